"""What the program takes, as it takes it."""

import json
import random
from pathlib import Path

from graphcleaner._rules import class_order


def test_class_order_is_that_of_graphcleaner():
    # Tests in docs/detection hold the Go code to the same orders.
    orders = json.loads(Path(__file__).with_name("class_orders.json").read_text(encoding="utf-8"))
    assert orders
    for want in orders:
        names = random.Random(1).sample(want, len(want))
        assert class_order(set(names)) == want
