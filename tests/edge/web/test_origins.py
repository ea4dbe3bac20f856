from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starloom.edge.web.shield import reach_of

LOCAL = reach_of(["http://127.0.0.1:8470"])
PUBLIC = reach_of(["http://127.0.0.1:8470", "https://star.example"], ["10.0.0.0/8", "127.0.0.1"])


@pytest.mark.parametrize("host", ["127.0.0.1:8470", "localhost:8470", "LOCALHOST:8470"])
def test_the_listeners_names(host: str) -> None:
    assert LOCAL.allows_host(host, "http")


@pytest.mark.parametrize(
    "host",
    [
        "",
        "localhost",
        "127.0.0.1",
        "127.0.0.2:8470",
        "localhost:80",
        "a@localhost:8470",
        "localhost:8470/x",
        "localhost:x",
    ],
)
def test_anything_else_is_foreign(host: str) -> None:
    assert not LOCAL.allows_host(host, "http")


def test_default_ports_of_the_public_url() -> None:
    assert PUBLIC.allows_host("star.example", "https")
    assert PUBLIC.allows_host("star.example:443", "https")
    assert not PUBLIC.allows_host("star.example", "http")
    assert PUBLIC.allows_origin("https://star.example")
    assert not PUBLIC.allows_origin("http://star.example")
    assert not PUBLIC.allows_origin("null")


def test_six_has_brackets() -> None:
    six = reach_of(["http://[::1]:8470"])
    assert six.allows_host("[::1]:8470", "http")
    assert six.allows_origin("http://[::1]:8470")


def test_the_client_is_the_last_that_no_proxy_of_ours_has() -> None:
    assert PUBLIC.client_of("10.1.1.1", ["6.6.6.6", "203.0.113.7", "10.2.2.2"]) == "203.0.113.7"
    assert PUBLIC.client_of("8.8.8.8", ["6.6.6.6"]) == "8.8.8.8"
    assert PUBLIC.client_of("127.0.0.1", []) == "127.0.0.1"
    assert not PUBLIC.trusts("not an address")


@given(st.text(max_size=80), st.sampled_from(["http", "https"]))
def test_no_text_breaks_it_and_only_names_of_ours_pass(text: str, scheme: str) -> None:
    if LOCAL.allows_host(text, scheme):
        assert text.lower() in ("127.0.0.1:8470", "localhost:8470")
    LOCAL.allows_origin(text)
