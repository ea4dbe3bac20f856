from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from starloom.lab.proxy.http_head import HEAD_BYTES_MAX, HeadReader

UPLOAD = b"PATCH /a/1?x=2 HTTP/1.1\r\nHost: 127.0.0.1:5\r\nContent-Length: 10\r\n\r\n0123456789"
GET = b"GET /b HTTP/1.1\r\nhost: old\r\n\r\n"
UPGRADE = b"GET /ws HTTP/1.1\r\nHost: old\r\nUpgrade: websocket\r\n\r\n"
NEW = b"127.0.0.1:8470"


def out(chunks: list[bytes]) -> tuple[bytes, dict[str, int], bool]:
    reader = HeadReader(NEW.decode())
    passed, upgraded = b"", False
    bodies: dict[str, int] = {}
    for chunk in chunks:
        for piece in reader.feed(chunk):
            passed += piece.data
            upgraded = upgraded or piece.upgraded
            if piece.body:
                bodies[piece.path] = bodies.get(piece.path, 0) + len(piece.data)
    return passed, bodies, upgraded


@given(st.lists(st.integers(1, 40), max_size=12))
def test_any_split_gives_the_same(cuts: list[int]) -> None:
    data = UPLOAD + GET + UPLOAD + UPGRADE + b"\x00\r\n\r\nHost: kept\r\n\r\n"
    chunks, at = [], 0
    for cut in cuts:
        chunks.append(data[at : at + cut])
        at += cut
    chunks.append(data[at:])
    expected = data.replace(b"Host: 127.0.0.1:5", b"Host: " + NEW).replace(b"host: old", b"host: " + NEW)
    expected = expected.replace(b"Host: old", b"Host: " + NEW)
    passed, bodies, upgraded = out(chunks)
    assert passed == expected
    assert bodies == {"/a/1": 20}
    assert upgraded


def test_what_is_not_http_passes_untouched() -> None:
    assert out([b"hello there\r\n\r\nHost: x\r\n\r\n"])[0] == b"hello there\r\n\r\nHost: x\r\n\r\n"
    endless = b"A" * (HEAD_BYTES_MAX + 1)
    assert out([endless, b"B"])[0] == endless + b"B"


def test_a_chunked_body_passes_untouched() -> None:
    data = b"POST /c HTTP/1.1\r\nHost: old\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHost:\r\n0\r\n\r\n"
    assert out([data])[0] == data.replace(b"Host: old", b"Host: " + NEW)
