from __future__ import annotations

import itertools
import threading
import time

from blockviz.ui.sessions import Places, Signals, Turns


def test_turns_are_given_in_the_order_of_asking() -> None:
    turns, order = Turns(), []
    waiting: list[threading.Thread] = []

    def work(name: int) -> None:
        with turns.turn():
            order.append(name)

    with turns.turn():
        for name in range(5):
            thread = threading.Thread(target=work, args=(name,))
            thread.start()
            waiting.append(thread)
            deadline = time.monotonic() + 10
            while len(turns._queue) <= name and time.monotonic() < deadline:
                time.sleep(0.001)
        assert order == []
    for thread in waiting:
        thread.join(10)
    assert order == [0, 1, 2, 3, 4]


def test_a_turn_is_alone_and_given_back_after_an_error() -> None:
    turns, inside, most = Turns(), [0], [0]

    def work() -> None:
        for _ in range(50):
            with turns.turn():
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    try:
        with turns.turn():
            raise RuntimeError
    except RuntimeError:
        pass
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert most == [1]
    assert not any(thread.is_alive() for thread in threads)


def test_two_runs_alternate_though_neither_waits_for_the_other() -> None:
    turns, order = Turns(), []

    def work(name: str) -> None:
        for _ in range(20):
            with turns.turn():
                order.append(name)
                time.sleep(0.002)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    changes = sum(first != second for first, second in itertools.pairwise(order))
    assert changes > 20, "a lock without an order of arrival lets one run go first to the end"


def test_a_run_beyond_the_places_waits_for_one_to_be_free() -> None:
    places = Places(2)
    first, second, third, fourth = (places.arrive() for _ in range(4))
    assert [places.ahead(ticket) for ticket in (first, second, third, fourth)] == [0, 0, 1, 2]
    places.leave(second)
    assert [places.ahead(ticket) for ticket in (first, third, fourth)] == [0, 0, 1]
    places.leave(second)  # twice is no harm
    places.leave(first)
    assert places.ahead(fourth) == 0


def test_others_are_those_that_go_not_those_that_wait() -> None:
    places = Places(2)
    assert places.others() == 0
    tickets = [places.arrive()]
    assert places.others() == 0
    tickets += [places.arrive(), places.arrive()]
    assert places.others() == 1
    for ticket in tickets[:2]:
        places.leave(ticket)
    assert places.others() == 0


def test_waiting_ends_when_a_place_is_free() -> None:
    places = Places(1)
    first, second = places.arrive(), places.arrive()
    threading.Timer(0.05, places.leave, (first,)).start()
    assert places.ahead(second, seconds=20) == 0


def test_stop_reaches_only_the_tab_and_place_it_names() -> None:
    signals = Signals()
    mine, other = signals.begin("me", "explore"), signals.begin("me", "compare")
    theirs = signals.begin("them", "explore")
    signals.stop("me", "explore")
    assert (mine.is_set(), other.is_set(), theirs.is_set()) == (True, False, False)
    signals.stop("me")
    assert other.is_set()
    assert not theirs.is_set()


def test_a_new_run_stops_the_earlier_one_of_its_place() -> None:
    signals = Signals()
    earlier = signals.begin("me", "explore")
    later = signals.begin("me", "explore")
    assert earlier.is_set()
    assert not later.is_set()
    signals.end("me", "explore", earlier)  # the earlier run's end must not forget the later one
    signals.stop("me", "explore")
    assert later.is_set()


def test_signals_are_bounded_and_forgotten() -> None:
    signals = Signals(limit=3)
    first = signals.begin("0", "explore")
    for session in range(1, 4):
        signals.begin(str(session), "explore")
    assert len(signals) == 3
    assert first.is_set()
    last = signals.begin("last", "explore")
    signals.end("last", "explore", last)
    assert len(signals) == 2
