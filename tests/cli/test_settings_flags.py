"""The sources of settings, and which one wins."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pgsched.cli.settings_flags import as_environment, load_settings, with_database
from pgsched.cli.settings_sources import load
from pgsched.embedded.data_directory_lock import announce, drop_lock, hold_lock, running_url
from pgsched.errors import InvalidSettings
from pgsched.settings import Settings


def test_a_flag_overrides_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_PROCESSES", "3")
    assert load_settings({"processes": "4"}).processes == 4


def test_the_environment_overrides_the_settings_file(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pgsched.toml").write_text("processes = 2\nbatch = 7\n")
    monkeypatch.setenv("PGSCHED_PROCESSES", "3")
    settings = load_settings({})
    assert (settings.processes, settings.batch) == (3, 7)


def test_a_named_settings_file_replaces_the_default_file() -> None:
    Path("pgsched.toml").write_text("processes = 2\n")
    Path("other.toml").write_text("processes = 5\n")
    assert load_settings({"config": "other.toml"}).processes == 5


def test_only_the_embedded_database_allows_private_targets_by_default() -> None:
    assert load_settings({}, delivers=True).allow_private_targets
    assert not load_settings({}).allow_private_targets
    assert not load_settings({"database_url": "postgresql://x@y/z"}, delivers=True).allow_private_targets


@pytest.mark.parametrize("source", ["flag", "environment", "file"])
def test_every_source_can_forbid_private_targets(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = {}
    match source:
        case "flag":
            flags["allow_private_targets"] = False
        case "environment":
            monkeypatch.setenv("PGSCHED_ALLOW_PRIVATE_TARGETS", "false")
        case _:
            Path("pgsched.toml").write_text("allow_private_targets = false\n")
    assert not load_settings(flags, delivers=True).allow_private_targets


def test_a_child_gets_exactly_its_parents_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSCHED_APP", "left.over:app")
    settings = Settings(database_url="postgresql://x@y/z", notify=False, lease=2.5, queues="a,b")
    assert load(flags={}, environment=as_environment(settings)) == settings


def test_the_error_for_a_missing_database_url_names_the_setting() -> None:
    with pytest.raises(InvalidSettings, match="PGSCHED_DATABASE_URL"):
        with_database(Settings())


@contextmanager
def _running(data_dir: Path) -> Iterator[None]:
    (data_dir / "postgres").mkdir()
    lock = hold_lock(data_dir / "postgres")
    announce(lock, "postgresql://here/it-is")
    yield
    drop_lock(lock)


def test_the_database_url_of_a_running_pgsched_up_is_used(tmp_path: Path) -> None:
    with _running(tmp_path):
        assert with_database(Settings(data_dir=str(tmp_path))).database_url == "postgresql://here/it-is"
    assert running_url(tmp_path / "postgres") is None


def test_a_configured_database_url_overrides_a_running_pgsched_ups_url(tmp_path: Path) -> None:
    with _running(tmp_path):
        settings = Settings(data_dir=str(tmp_path), database_url="postgresql://my/own")
        assert with_database(settings) is not None
        assert with_database(settings).database_url == "postgresql://my/own"


def test_the_database_url_left_by_a_crashed_pgsched_up_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("1\npostgresql://long/gone")
    assert running_url(tmp_path) is None


def test_kafka_config_can_be_a_toml_table_or_a_json_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pgsched.toml").write_text('[kafka_config]\n"linger.ms" = 5\n')
    assert load_settings({}).kafka_config == '{"linger.ms": 5}'
    monkeypatch.setenv("PGSCHED_KAFKA_CONFIG", '{"linger.ms": 7}')
    assert load_settings({}).kafka_config == '{"linger.ms": 7}'


@pytest.mark.parametrize(
    "line", ['queues = ["a", "b"]', "queues = 5", 'allowed_hosts = ["a"]', 'proxy = {url = "http://secret"}',
             'secret_keys = ["secret"]', 'app = ["shop:app"]']
)  # fmt: skip
def test_a_text_setting_in_the_settings_file_must_be_text(line: str) -> None:
    Path("pgsched.toml").write_text(line)
    with pytest.raises(InvalidSettings, match="it must be text") as refusal:
        load_settings({})
    assert "secret'" not in str(refusal.value)


@pytest.mark.parametrize("queues", ["", ",", " , "])
def test_the_queues_setting_must_not_be_empty_and_is_deduplicated(queues: str) -> None:
    with pytest.raises(InvalidSettings, match="queues is empty"):
        load_settings({"queues": queues})
    assert Settings(queues="a, b,a").queue_names == ["a", "b"]


@pytest.mark.parametrize("text", ["linger.ms=5", "[1]"])
def test_the_kafka_config_setting_must_be_a_json_object(text: str) -> None:
    with pytest.raises(InvalidSettings, match="it must be a JSON object"):
        load_settings({"kafka_config": text})


INJECTED = {
    "PGSCHED_SERVICE_HOST": "10.0.0.7",
    "PGSCHED_SERVICE_PORT": "8080",
    "PGSCHED_SERVICE_PORT_HTTP": "8080",
    "PGSCHED_PORT": "tcp://10.0.0.7:8080",
    "PGSCHED_PORT_8080_TCP": "tcp://10.0.0.7:8080",
    "PGSCHED_PORT_8080_TCP_PROTO": "tcp",
    "PGSCHED_PORT_8080_TCP_PORT": "8080",
    "PGSCHED_PORT_8080_TCP_ADDR": "10.0.0.7",
    "PGSCHED_API_SERVICE_HOST": "10.0.0.8",
    "PGSCHED_API_PORT": "udp://10.0.0.8:53",
    "PGSCHED_API_PORT_53_UDP_ADDR": "10.0.0.8",
    "PGSCHED_QUEUES_SERVICE_PORT": "80",
    "PGSCHED_NAME": "/web/pgsched",
    "PGSCHED_ENV_PROCESSES": "7",
}


def test_variables_injected_by_kubernetes_are_ignored(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable, value in INJECTED.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PGSCHED_PROCESSES", "3")
    assert load_settings({}) == Settings(processes=3)
    assert load_settings({}, delivers=True).processes == 3
    assert capsys.readouterr().err == ""


def test_a_numeric_port_is_used_despite_kubernetes_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in INJECTED.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PGSCHED_PORT", "9000")
    assert load_settings({}).port == 9000


def test_an_unknown_variable_is_ignored_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PGSCHED_IMAGE_TAG", "1.2.3")
    assert load_settings({}) == Settings()
    assert "PGSCHED_IMAGE_TAG is not a setting" in capsys.readouterr().err


@pytest.mark.parametrize(
    "variable", ["PGSCHED_PROCESES", "PGSCHED_DATABSE_URL", "PGSCHED_QUEUE", "PGSCHED_POOL_INTERVAL"]
)
def test_a_misspelled_variable_is_refused(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "2")
    with pytest.raises(InvalidSettings, match=f"{variable}: .*did you mean PGSCHED_"):
        load_settings({})


def test_tls_certificates_can_be_a_toml_table_but_text_must_be_json(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pgsched.toml").write_text('[tls_certificates]\n"bank.example" = "/a.pem"\n')
    assert load_settings({}).tls_certificates == '{"bank.example": "/a.pem"}'
    with pytest.raises(InvalidSettings, match=r"tls_certificates is .* it must be a JSON object"):
        load_settings({"tls_certificates": "/a.pem"})
