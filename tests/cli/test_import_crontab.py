"""Crontabs become declarations that `pgsched apply` reads."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pgsched.cli.crontab_shell_words import address_of, words_of
from pgsched.cli.main import cli
from tests.cli.conftest import Run
from tests.cli.import_arrange import declared
from tests.docs.fences import ROOT, blocks_of

CRONTAB = """
# m h dom mon dow command
MAILTO=ops@shop.example
CRON_TZ="Europe/Berlin"
30 2 * * *    curl -fsS https://shop.example/close-day > /dev/null 2>&1
*/5 * * * *   wget -qO- 'https://shop.example/rates?a=1&b=2' >/dev/null
0 3 * * MON   /opt/shop/report.sh --weekly
CRON_TZ=
@daily        /opt/shop/report.sh
"""


def test_crontab_entries_become_declarations(run: Run) -> None:
    jobs, left = declared(run, "crontab", "--target", "https://shop.example/cron/{name}", given=CRONTAB)
    berlin = {"timezone": "Europe/Berlin"}
    called = {"options": {"method": "GET"}, **berlin}
    rates = "https://shop.example/rates?a=1&b=2"
    assert [job.pop("key").rpartition("-")[0] for job in jobs] == ["close-day", "rates", "report"]
    assert jobs == [
        {"target": "https://shop.example/close-day", "cron": "30 2 * * *", **called},
        {"target": rates, "cron": "*/5 * * * *", **called},
        {"target": "https://shop.example/cron/report", "cron": "0 3 * * MON", **berlin,
         "payload": {"command": ["/opt/shop/report.sh", "--weekly"]}},
    ]  # fmt: skip
    assert left == [
        "left out line 3: MAILTO: pgsched sends no mail: use on_failure or alerts instead",
        "left out line 9: cron runs it in the time zone of its machine: give that zone with --timezone",
    ]


def test_system_crontab_entries_are_imported_with_user_and_client(run: Run) -> None:
    given = "0 3 * * * root /opt/report.sh\n0 4 * * * shop /opt/report.sh\n"
    words = ("crontab", "--system", "--timezone", "UTC", "--target", "python:{key}", "--client", "shop")
    jobs, left = declared(run, *words, given=given)
    assert [(job["target"], job["client"]) for job in jobs] == [(f"python:{job['key']}", "shop") for job in jobs]
    assert [job["payload"]["user"] for job in jobs] == ["root", "shop"]
    assert len({job["key"] for job in jobs}) == 2
    assert left == []


def test_an_entrys_key_does_not_depend_on_other_lines(run: Run) -> None:
    lines = [
        "0 3 * * * /opt/report.sh",
        "0 4 * * * /opt/report.sh",
        "0 3 * * * /opt/report.sh --all",
        "0 3 * * * /srv/report.sh",
        "0 3 * * * curl https://a.example/report",
        "0 3 * * * curl https://b.example/report",
    ]

    def keys(*given: str) -> dict[str, str]:
        words = ("crontab", "--timezone", "UTC", "--target", "python:{key}")
        jobs, left = declared(run, *words, given="".join(f"{line}\n" for line in given))
        assert left == []
        return dict(zip(given, (job["key"] for job in jobs), strict=True))

    apart = {line: keys(line)[line] for line in lines}
    assert len({*apart.values()}) == len(lines)
    assert keys(*lines) == keys(*lines[::-1]) == apart


def test_a_repeated_entry_is_declared_once(run: Run) -> None:
    jobs, [left] = declared(run, "crontab", "--timezone", "UTC", given="@daily curl https://a.example/x\n" * 2)
    assert len(jobs) == 1
    assert "line 2" in left


@pytest.mark.parametrize(("line", "why"), [
    ("0 3 * * * /opt/report.sh", "pgsched runs no commands"),
    ("0 3 * * * curl https://a.example && rm -r /", "declare the call by hand"),
    ("0 3 * * * curl https://a.example?x=1&reboot", "declare the call by hand"),
    ("0 3 * * * curl -d x=1 https://a.example", "declare the call by hand"),
    ("0 3 * * * curl https://a.example/$(date +\\%F)", "declare the call by hand"),
    ("0 3 * * * curl -o /etc/hosts https://a.example", "declare the call by hand"),
    ("0 3 * * * curl 'https://a.example", "declare the call by hand"),
    ("0 3 * * * curl -O https://a.example/a.csv", "declare the call by hand"),
    ("0 3 * * * curl 'https://a.example/[1-9]'", "declare the call by hand"),
    ("0 3 * * * wget -q https://a.example/a.csv", "declare the call by hand"),
    ("0 3 * * * timeout 9 curl https://a.example", "declare the call by hand"),
    ("5/15 * * * * curl https://a.example", "5-59/15"),
    ("* * * * MON/2 curl https://a.example", "5-59/15"),
    ("*/90 * * * * curl https://a.example", "step larger than its range"),
    ("0 0 30 2 * * curl https://a.example", "declare the call by hand"),
    ("@reboot curl https://a.example", "@reboot"),
    ("0 0 31 2 * curl https://a.example", "never"),
    ("~ 3 * * * curl https://a.example", "~"),
    ("nothing at all", "this is not a crontab entry"),
    ("@every_minute curl https://a.example", "@every_minute"),
    ("RANDOM_DELAY=30", "jitter"),
    ("TZ=Europe/Berlin", "CRON_TZ"),
    ("REPORT=full", "REPORT"),
])  # fmt: skip
def test_an_entry_without_an_equivalent_is_omitted_with_a_reason(run: Run, line: str, why: str) -> None:
    jobs, left = declared(run, "crontab", "--timezone", "UTC", given=f"{line}\n")
    assert jobs == []
    assert len(left) == 1
    assert left[0].startswith("left out line 1: ")
    assert why in left[0]


@pytest.mark.parametrize(
    "command",
    [
        "test -x /opt/report.sh && /opt/report.sh",
        "[ -f /x ] && /opt/report.sh",
        "[ -f /x ] || exit 0; /opt/report.sh",
        "/opt/a.sh || /opt/b.sh",
        "/opt/a.sh | mail ops",
        "/opt/a.sh; /opt/b.sh",
        "/opt/a.sh > /srv/report",
        "/opt/a.sh &",
        "/opt/a.sh >> /var/log/a.log 2>&1",
        "/opt/a.sh < /srv/input",
        "(cd /srv; /opt/a.sh)",
        "cd /srv",
        "$HOME/a.sh",
        "/opt/a.sh $DAY",
        "/opt/a.sh `date`",
        "/opt/a.sh $(date +\\%F)",
        '/opt/a.sh "$DAY"',
        "MODE=full /opt/a.sh",
        "/opt/a.sh *.csv",
        "~/bin/a.sh",
        "/opt/a.sh {a,b}",
        "! /opt/a.sh",
        "if true; then /opt/a.sh; fi",
        "bash -c '/opt/a.sh && /opt/b.sh'",
        "sh -lc /opt/a.sh",
        "flock -n /tmp/lock /opt/a.sh",
        "/usr/bin/flock /tmp/lock /opt/a.sh",
        "timeout 60 /opt/a.sh",
        "nice /opt/a.sh",
        "env MODE=full /opt/a.sh",
        "sudo -u shop /opt/a.sh",
        "sleep 30",
        "/opt/a.sh%input",
        "/opt/a.sh \\",
        "'/opt/a.sh",
        "* /opt/a.sh",
        "test -x /usr/sbin/anacron || run-parts /etc/cron.daily",
        "python3 -c 'import a'",
        "time /opt/a.sh",
        ". /etc/profile",
        "chronic /opt/a.sh",
        "cronitor exec a1b2 /opt/a.sh",
        "torsocks curl https://a.example",
        "setsid /opt/a.sh",
        "/opt/a.sh file?.csv",
    ],
)
def test_a_command_that_needs_a_shell_is_omitted(run: Run, command: str) -> None:
    words = ("crontab", "--timezone", "UTC", "--target", "python:{name}")
    jobs, [left] = declared(run, *words, given=f"0 3 * * * {command}\n")
    assert jobs == []
    assert "declare the call by hand" in left


@pytest.mark.parametrize(
    ("command", "name", "words"),
    [
        ("/opt/a.sh", "a", ["/opt/a.sh"]),
        (
            "/opt/a.sh --day=mon 'x y' \"it's\" a\\ b 100\\% # nightly",
            "a",
            ["/opt/a.sh", "--day=mon", "x y", "it's", "a b", "100%"],
        ),
        ("/opt/a.sh >/dev/null 2>&1", "a", ["/opt/a.sh"]),
        ("/opt/a.sh 2 &> /dev/null", "a", ["/opt/a.sh", "2"]),
        ("/usr/bin/php /srv/cron.php run", "cron", ["/usr/bin/php", "/srv/cron.php", "run"]),
        ("python3.12 /srv/x_y.py", "x-y", ["python3.12", "/srv/x_y.py"]),
        ("python3 -m shop.report", "python3", ["python3", "-m", "shop.report"]),
    ],
)
def test_a_plain_command_is_passed_on_with_its_arguments(run: Run, command: str, name: str, words: list[str]) -> None:
    given = ("crontab", "--timezone", "UTC", "--target", "https://shop.example/{name}")
    [job], left = declared(run, *given, given=f"0 3 * * * {command}\n")
    assert left == []
    assert (job["target"], job["payload"]) == (f"https://shop.example/{name}", {"command": words})


def _read(run: Run, *flags: str) -> Result:
    return run("jobs", "import", "crontab", "there", "--timezone", "UTC", "--target", "python:{name}", *flags)


@pytest.mark.parametrize(
    "entry",
    [
        "root /opt/report.sh",
        "root reboot-check",
        "www-data php /srv/cron.php",
        "shop /opt/report.sh",
        "deploy curl https://a.example",
        "root    test -x /usr/sbin/anacron || run-parts /etc/cron.daily",
        "root cd / && run-parts /etc/cron.hourly",
        "git /home/git/x.sh",
        "shop [ -x /opt/a ] && /opt/a",
        "postgres /usr/bin/vacuumdb -a",
        "_www /opt/a.sh",
    ],
)
def test_a_system_crontab_without_the_system_flag_is_refused(run: Run, entry: str) -> None:
    Path("there").write_text(f"# /etc/crontab\n17 * * * * {entry}\n")
    answer = _read(run)
    assert answer.exit_code == 2
    assert "line 2" in answer.stderr
    assert "--system" in answer.stderr
    answer = _read(run, "--system")
    assert answer.exit_code == 0


@pytest.mark.parametrize(
    "command",
    [
        "/opt/report.sh",
        "/opt/report.sh --weekly",
        "curl https://a.example",
        "php /srv/cron.php",
        "cd /srv && ./a.sh",
        "git gc",
        "python3.12 /srv/a.py",
        "[ -f /x ] && /opt/a.sh",
        "./a.sh x",
        "backup.sh /srv",
        "test -f /x",
        "if [ -f /x ]; then /opt/a.sh; fi",
        "chronic curl https://a.example",
        "run-one /opt/a.sh",
        "dotnet /srv/a.dll",
    ],
)
def test_a_user_crontab_with_the_system_flag_is_refused(run: Run, command: str) -> None:
    Path("there").write_text(f"MAILTO=ops\n17 * * * * {command}\n")
    answer = _read(run, "--system")
    assert answer.exit_code == 2
    assert "line 2" in answer.stderr
    assert "leave out --system" in answer.stderr
    answer = _read(run)
    assert answer.exit_code == 0


def test_an_unsupported_curl_call_is_omitted_even_with_a_target(run: Run) -> None:
    given = "0 4 * * 0 curl -X POST -d '{}' https://shop.example/close\n"
    jobs, [left] = declared(run, "crontab", "--timezone", "UTC", "--target", "python:{key}", given=given)
    assert jobs == []
    assert "declare the call by hand" in left


def test_a_file_that_is_not_text_is_refused(run: Run) -> None:
    Path("there").write_bytes(b"\xff\xfe\x00")
    assert run("jobs", "import", "crontab", "there").exit_code == 2


def test_the_error_for_a_missing_file_names_the_file(run: Run) -> None:
    answer = run("jobs", "import", "crontab", "nowhere")
    assert answer.exit_code == 1
    assert "nowhere" in answer.stderr


def test_json_output_lists_jobs_and_omitted_entries(run: Run) -> None:
    Path("there").write_text("@daily curl https://shop.example/a\n@daily ls\n")
    answer = json.loads(run("jobs", "import", "crontab", "--timezone", "UTC", "there", "--json").stdout)
    assert [job["target"] for job in answer["jobs"]] == ["https://shop.example/a"]
    assert [one["where"] for one in answer["left"]] == ["line 2"]


def test_the_migration_guide_shows_the_actual_import_output(run: Run) -> None:
    blocks = blocks_of(ROOT / "docs" / "how-to" / "migrate.md")
    given, printed = (
        next(block.text for block in blocks if block.language == language) for language in ("text", "toml")
    )
    jobs, left = declared(run, "crontab", "--timezone", "Europe/Berlin", given=given)
    assert jobs == tomllib.loads(printed)["jobs"]
    assert left[0] in [line for block in blocks for line in block.text.splitlines()]


def test_wget_spider_is_not_imported_as_a_plain_get() -> None:
    assert address_of(words_of("wget -q --spider https://shop.example/a")) is None


def test_a_byte_order_mark_in_a_crontab_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "crontab"
    file.write_bytes(b"\xef\xbb\xbf0 1 * * * curl https://shop.example/a\n")
    found = CliRunner().invoke(cli, ["jobs", "import", "crontab", str(file), "--timezone", "UTC"])
    assert 'target = "https://shop.example/a"' in found.stdout
