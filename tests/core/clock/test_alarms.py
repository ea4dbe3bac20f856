"""Alarms of a schedule: a look that found it well ends one; a run that saw nothing, or not all, leaves it."""

from __future__ import annotations

from msgspec.structs import replace

from starloom.core.placement.device_groups.off_devices import TIMER
from starloom.core.state.apply import load
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Condition, ForEach, Selector, SentenceSpec
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import DeviceLink, Need, NotifyWhen, Op
from tests.builders import plan, task
from tests.core.clockwork import Clockwork, at

SEEN_BY_EACH = ForEach(devices=Selector(), need=Need.BEST_EFFORT, when_off="report", after_s=10)


def watch() -> LoweredPlan:
    """Return a plan that looks from each device, and calls it an alarm where the newest look saw it down."""
    conditions = {up: Condition(op=Op.EQ, output="/up", value=up) for up in ("false", "true")}
    down = SentenceSpec(alarm=True, condition=conditions["false"], source="look", text="It does not answer.")
    well = SentenceSpec(condition=conditions["true"], source="look", text="It is up.")
    return replace(plan(task("look", for_each=SEEN_BY_EACH), name="Site"), sentences=[down, well])


class Watch(Clockwork):
    """A schedule that looks from `one` and `two` each hour, and its devices, which may be off."""

    def __init__(self, *devices: str, notify: NotifyWhen = NotifyWhen.FAILURE) -> None:
        super().__init__("2026-06-01T00:30", *devices)
        self.save(watch(), notify=notify)
        self.hour = 0

    def put(self, name: str, link: DeviceLink) -> None:
        device = self.shard.fleet.devices[f"d-{name}"]
        load(self.shard, FLEET, 0, {f"device/{device.id}": replace(device, link=link, link_since_ms=self.now_ms)})

    def look(self, **seen: bool) -> str:
        """Run the next firing, in which a device finds it up or down; return the news, which is then seen."""
        self.hour += 1
        for name in (device.name for device in self.shard.fleet.devices.values()):
            self.put(name, DeviceLink.ONLINE if name in seen else DeviceLink.OFFLINE)
        self.turn_to(f"2026-06-01T{self.hour:02}:00")
        name = self.firings()[-1]
        while self.shard.constellations[name].head.state == "active":
            for dispatch in (dispatches := self.take()):
                device = self.shard.fleet.devices[dispatch.device].name
                self.result(dispatch, {"up": seen[device]})
            if not dispatches:
                self.now_ms += 10_000
                due = [timer for timer in self.timers if timer.kind == TIMER and timer.due_ms <= self.now_ms]
                assert due, "the firing waits for nothing"
                self.timers = [timer for timer in self.timers if timer not in due]
                for timer in due:
                    self.fire(timer)
        return self.news()


def test_a_run_that_could_ask_no_device_ends_no_alarm() -> None:
    watched = Watch("one")
    assert watched.look(one=False).startswith("It does not answer.")
    said = watched.look()
    assert said.startswith("not known: nobody could look since 01:00 UTC. s-one could ask no device")
    assert "well again" not in said
    assert watched.alarm()
    assert watched.look() == "", "it is said once"
    assert watched.alarm()
    assert watched.look(one=True).startswith("it is well again. It is up.")
    assert not watched.alarm()


def test_trouble_that_is_found_after_a_blind_run_is_told_again() -> None:
    watched = Watch("one")
    watched.look(one=False)
    watched.look()
    assert watched.look(one=False).startswith("It does not answer.")


def test_a_device_that_saw_the_trouble_must_look_again() -> None:
    watched = Watch("one", "two")
    assert watched.look(one=False, two=False).startswith("It does not answer.")
    said = watched.look(two=True)
    assert said.startswith(
        "not known whether it is well again: one could not look since 01:00 UTC. It is up; not asked: one"
    )
    assert watched.alarm()
    assert watched.look(two=True) == ""
    assert watched.look(one=True).startswith("it is well again."), "two has seen it well before"


def test_a_device_that_never_saw_the_trouble_holds_no_alarm() -> None:
    watched = Watch("one", "two")
    watched.look(one=False)
    assert watched.look(one=True).startswith("it is well again.")


def test_a_device_that_is_removed_holds_no_alarm() -> None:
    watched = Watch("one", "two")
    watched.look(one=False, two=False)
    device = watched.shard.fleet.devices["d-one"]
    load(watched.shard, FLEET, 0, {"device/d-one": replace(device, revoked=True)})
    assert watched.look(two=True).startswith("it is well again.")


def test_a_watch_without_an_alarm_says_once_that_it_is_blind() -> None:
    watched = Watch("one")
    assert watched.look().startswith("not known: nobody could look yet. ")
    assert watched.look(one=True) == ""
    assert watched.look().startswith("not known: nobody could look since 02:00 UTC. ")
    assert watched.look() == ""
    assert watched.look(one=True) == ""


def test_a_blind_run_is_no_change_of_the_answer() -> None:
    watched = Watch("one", notify=NotifyWhen.CHANGE)
    watched.look(one=True)
    assert watched.look().startswith("not known: ")
    assert watched.look(one=True) == ""


def test_an_alarm_stays_where_no_sentence_of_the_plan_holds() -> None:
    """An answer that neither says trouble nor says that it is well is no look that found it well."""
    clock = Clockwork()
    clock.save(
        replace(
            plan(task("a"), name="Site"),
            sentences=[replace(one, source="a") for one in watch().sentences],
        )
    )
    for hour, value in enumerate(({"up": False}, {}, {"up": True}), start=1):
        clock.turn_to(f"2026-06-01T0{hour}:00")
        clock.run(clock.firings()[-1], value)
        assert clock.news().startswith(("It does not answer.", "not known: ", "it is well again.")[hour - 1])
    last = clock.schedule().last
    assert last is not None
    assert last.due_ms == at("2026-06-01T03:00")
