"""The hub's own certificate authority for the local network: makes it, keeps it 0600, issues the listener's leaf.

The authority may only certify addresses of private networks. The leaf is short-lived and is renewed with the same key,
so the pin of the agents and the six words that people compare stay the same. Opens no socket.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from starloom.process.private_files import write_private
from starloom_protocol.wire.short_words import WORDS

LEAF_DAYS = 30
RENEW_DAYS = 10
"""A leaf is renewed so long before its end, while a hub that is seldom on can still do it."""
AUTHORITY_DAYS = 3650
_SKEW = datetime.timedelta(days=1)
"""Certificates are valid from a day ago, so that a device whose clock runs behind accepts them."""

PRIVATE_NETWORKS = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "127.0.0.0/8")
PRIVATE_NETWORKS_6 = ("fc00::/7", "fe80::/10", "::1/128")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Key = ec.EllipticCurvePrivateKey


class NotPrivate(ValueError):
    """The address belongs to no private network; such a listener needs a certificate of one's own."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """The listener's certificate: files for the TLS library, the pin of its key, the key in words, its end."""

    chain: Path
    key: Path
    pin: str
    words: str
    expires_ms: int


def is_private(address: Address) -> bool:
    """Tell whether the authority may certify an address."""
    networks = PRIVATE_NETWORKS if address.version == 4 else PRIVATE_NETWORKS_6
    return any(address in ipaddress.ip_network(network) for network in networks)


def words_of(spki: bytes) -> str:
    """Return six different words (47.9 bits) that identify a public key (DER)."""
    digest = hashlib.sha256(b"starloom/certificate\n" + spki).digest()
    return " ".join(WORDS[byte] for byte in [*dict.fromkeys(digest)][:6])


class Authority:
    """The authority in one folder. `now_ms` is the hub's clock."""

    def __init__(self, folder: Path, now_ms: Callable[[], int]) -> None:
        self._folder = folder
        self._now_ms = now_ms

    @property
    def certificate_file(self) -> Path:
        """Return the authority's own certificate, which an owner may install on a phone; made by `leaf`."""
        return self._folder / "authority.pem"

    def leaf(self, address: str) -> Leaf:
        """Return a leaf for an address; renew it when it is near its end or was made for another address.

        Raises:
            NotPrivate: the address is a public one.
            ValueError: a key file exists and holds no key; it is never overwritten.
            OSError: the folder cannot be written.
        """
        parsed = ipaddress.ip_address(address)
        if not is_private(parsed):
            raise NotPrivate(f"{address} is not an address of a private network")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        authority_key = _key(self._folder / "authority.key")
        authority = self._authority(authority_key)
        key = _key(self._folder / "leaf.key")
        chain = self._folder / "leaf.pem"
        leaf = _first_certificate(chain)
        if leaf is None or not self._is_current(leaf, authority, key, parsed):
            leaf = self._issue(authority, authority_key, key, parsed)
            write_private(chain, _pem(leaf) + _pem(authority))
        spki = _spki(key)
        pin = "sha256//" + base64.b64encode(hashlib.sha256(spki).digest()).decode()
        expires_ms = round(leaf.not_valid_after_utc.timestamp() * 1000)
        return Leaf(chain, self._folder / "leaf.key", pin, words_of(spki), expires_ms)

    def _now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self._now_ms() // 1000, datetime.UTC)

    def _authority(self, key: Key) -> x509.Certificate:
        present = _first_certificate(self.certificate_file)
        if present is not None and _public(present) == _spki(key) and present.not_valid_after_utc > self._now():
            return present
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Starloom hub {words_of(_spki(key)).split()[0]}")])
        networks = [x509.IPAddress(ipaddress.ip_network(item)) for item in (*PRIVATE_NETWORKS, *PRIVATE_NETWORKS_6)]
        certificate = (
            self._builder(name, name, key, AUTHORITY_DAYS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.NameConstraints(permitted_subtrees=networks, excluded_subtrees=None), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        write_private(self.certificate_file, _pem(certificate))
        return certificate

    def _issue(self, authority: x509.Certificate, authority_key: Key, key: Key, address: Address) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(address))])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
        return (
            self._builder(name, authority.subject, key, LEAF_DAYS)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(address)]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(issuer, critical=False)
            .sign(authority_key, hashes.SHA256())
        )

    def _builder(self, subject: x509.Name, issuer: x509.Name, key: Key, days: int) -> x509.CertificateBuilder:
        moment = self._now()
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(moment - _SKEW)
            .not_valid_after(moment + datetime.timedelta(days=days))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )

    def _is_current(self, leaf: x509.Certificate, authority: x509.Certificate, key: Key, address: Address) -> bool:
        """Tell whether a leaf is for this address and key, by this authority, and not near its end."""
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return (
            leaf.not_valid_after_utc - self._now() > datetime.timedelta(days=RENEW_DAYS)
            and leaf.not_valid_before_utc <= self._now()
            and leaf.issuer == authority.subject
            and _public(leaf) == _spki(key)
            and names.get_values_for_type(x509.IPAddress) == [address]
        )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _spki(key: Key) -> bytes:
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _public(certificate: x509.Certificate) -> bytes:
    return certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _first_certificate(path: Path) -> x509.Certificate | None:
    """Return the first certificate of a file; None if it cannot be read, and the caller issues another from its key."""
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def _key(path: Path) -> Key:
    """Read a private key, or make it if the file does not exist."""
    if path.exists():
        try:
            key = load_pem_private_key(path.read_bytes(), None)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} is not a private key; restore it from a backup or move it away") from error
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{path} is a key of another kind; move it away")
        return key
    new_key = ec.generate_private_key(ec.SECP256R1())
    write_private(path, new_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return new_key
