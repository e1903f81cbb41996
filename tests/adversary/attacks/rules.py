"""Jobs whose schedules are slow to parse or to search."""

import json

from tests.adversary.attack import Means, attack


@attack(seconds=3.0)
def jobs_with_expensive_rules(means: Means) -> None:
    """Each job has different rules, so that caching does not help."""
    zones = ("Africa/Casablanca", "Asia/Gaza", "America/New_York", "Europe/Dublin")
    for number in range(60):
        also = [{"cron": f"{number} {item} * * * *", "timezone": zones[item % 4]} for item in range(20)]
        left_out = [f"{number},{item}/7 {item}-59/5 0-22/3 {item + 1}-31/2 * 1-6" for item in range(19)]
        rules = {"also": also, "exclude": [*left_out, "* * * * * *" if number % 2 else f"{number} * 3 * * *"]}
        means.schedule(every="1 second", key=f"ruled {number}", rules=json.dumps(rules))
    for number in range(40):
        means.schedule(cron=f"{number} 2 * 3 SUN#2", timezone="America/New_York", gap="skip", key=f"never {number}")
