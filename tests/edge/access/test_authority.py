"""The hub's own authority: private keys, a leaf for one private address, renewed with the same key."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest
from cryptography import x509

from starloom.edge.access.authority import LEAF_DAYS, RENEW_DAYS, Authority, NotPrivate

DAY_MS = 86_400_000
NOW_MS = 1_790_000_000_000


class Clock:
    ms = NOW_MS

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def authority(tmp_path: Path, clock: Clock) -> Authority:
    return Authority(tmp_path / "lan", clock)


def certificates(path: Path) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(path.read_bytes())


def test_keys_are_private_and_the_chain_holds(authority: Authority, tmp_path: Path) -> None:
    made = authority.leaf("192.168.1.7")
    for path in (tmp_path / "lan").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
    leaf, root = certificates(made.chain)
    leaf.verify_directly_issued_by(root)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address("192.168.1.7")]
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert len(made.words.split()) == 6


def test_the_authority_may_speak_for_private_networks_only(authority: Authority) -> None:
    root = certificates(authority.leaf("10.0.0.9").chain)[1]
    limits = root.extensions.get_extension_for_class(x509.NameConstraints)
    assert limits.critical
    networks = [name.value for name in limits.value.permitted_subtrees or []]
    assert all(network.is_private or str(network) == "100.64.0.0/10" for network in networks)
    with pytest.raises(NotPrivate, match="private network"):
        authority.leaf("93.184.216.34")


def test_a_leaf_is_kept_until_near_its_end_and_then_renewed_with_the_same_key(
    authority: Authority, clock: Clock
) -> None:
    first = authority.leaf("10.0.0.9")
    serial = certificates(first.chain)[0].serial_number
    clock.ms += (LEAF_DAYS - RENEW_DAYS - 1) * DAY_MS
    assert authority.leaf("10.0.0.9") == first
    clock.ms += 2 * DAY_MS
    second = authority.leaf("10.0.0.9")
    assert certificates(second.chain)[0].serial_number != serial
    assert (second.pin, second.words) == (first.pin, first.words)
    assert second.expires_ms > first.expires_ms


def test_another_address_gets_another_leaf_with_the_same_key(authority: Authority) -> None:
    first, second = authority.leaf("10.0.0.9"), authority.leaf("fd00::1")
    names = certificates(second.chain)[0].extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address("fd00::1")]
    assert first.pin == second.pin


def test_a_damaged_key_is_never_overwritten_and_a_damaged_certificate_is(authority: Authority, tmp_path: Path) -> None:
    made = authority.leaf("10.0.0.9")
    made.chain.write_text("nonsense")
    assert authority.leaf("10.0.0.9").pin == made.pin
    made.key.write_text("nonsense")
    with pytest.raises(ValueError, match="not a private key"):
        authority.leaf("10.0.0.9")
    assert made.key.read_text() == "nonsense"


def test_a_new_authority_has_other_words(authority: Authority, clock: Clock, tmp_path: Path) -> None:
    assert authority.leaf("10.0.0.9").words != Authority(tmp_path / "other", clock).leaf("10.0.0.9").words
