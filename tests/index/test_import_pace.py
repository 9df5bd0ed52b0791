from weft.index.importer import ImportPace


class Clock:
    def __init__(self):
        self.at = 0.0
        self.slept = []

    def sleep(self, seconds):
        self.slept.append(round(seconds, 6))
        self.at += seconds


def test_no_more_pages_than_the_rate_are_let_through():
    clock = Clock()
    pace = ImportPace(10, lambda: clock.at, clock.sleep)
    for _ in range(100):
        pace.take(5)
    # The first second's pages are there at once.
    assert clock.at == (500 - 10) / 10


def test_what_was_not_used_in_the_last_second_may_be_used():
    clock = Clock()
    pace = ImportPace(10, lambda: clock.at, clock.sleep)
    pace.take(10)
    clock.at += 60
    pace.take(10)
    assert clock.slept == []
    pace.take(3)
    assert clock.slept == [0.3]


def test_one_page_may_take_longer_than_a_second():
    clock = Clock()
    pace = ImportPace(0.5, lambda: clock.at, clock.sleep)
    pace.take(1)
    pace.take(1)
    assert clock.slept == [1.0, 2.0]
