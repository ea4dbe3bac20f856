"""The certificate of the world's sites: made for 127.0.0.1, trusted by the world's own devices alone."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from starloom.lab.nebula.devices import LOOPBACK

LASTS_DAYS: Final = 90
OWN_FILE_MODE: Final = 0o600


@dataclass(frozen=True)
class Certificate:
    """The files of certificate and key, and when it ends."""

    file: Path
    key: Path
    until: datetime


def certify(folder: Path, day: date) -> Certificate:
    """Make a certificate that ends 90 days after the world's day, and write it below a folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Nebula world")])
    start = datetime.combine(day, time(0), UTC)
    until = start + timedelta(days=LASTS_DAYS)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - timedelta(days=1))
        .not_valid_after(until)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file, secret = folder / "site.pem", folder / "site.key"
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.touch(mode=OWN_FILE_MODE)
    plain = serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return Certificate(file, secret, until)
