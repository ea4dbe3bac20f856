from __future__ import annotations

import pytest

from starloom.jobs.broker import broker_url_of, make_celery


@pytest.mark.parametrize(
    ("redis", "broker"),
    [
        ("unix:///run/s/v.sock?db=0", "redis+socket:///run/s/v.sock?virtual_host=1"),
        ("unix:///run/s/v.sock", "redis+socket:///run/s/v.sock?virtual_host=1"),
        ("unix:///run/s/v.sock?db=1", "redis+socket:///run/s/v.sock?virtual_host=2"),
        ("redis://host:6379/0", "redis://host:6379/1"),
        ("redis://:secret@host:6379", "redis://:secret@host:6379/1"),
        ("rediss://host:6380/1", "rediss://host:6380/2"),
    ],
)
def test_the_broker_is_another_database_of_the_same_server(redis: str, broker: str) -> None:
    assert broker_url_of(redis) == broker


def test_what_is_no_redis_is_refused() -> None:
    with pytest.raises(ValueError, match="amqp"):
        broker_url_of("amqp://host")


def test_json_only_and_no_results() -> None:
    app = make_celery("memory://")
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"
    assert app.conf.result_backend is None
    assert app.conf.task_ignore_result
    app.close()
