"""The files in `deploy/`: checked by their own tools, against the metrics of Portion, and by starting it as they say."""

import configparser
import json
import re
import shlex
import subprocess
import urllib.parse
from contextlib import contextmanager

import pytest
import yaml

from harness.command import FIXTURE, PORTION, REPOSITORY
from harness.hook import asked
from harness.listening import Listening, served
from harness.peer import Peer
from harness.ports import free_port
from harness.reply import Reply
from harness.waiting import until

DEPLOY = REPOSITORY / "deploy"
RULES = DEPLOY / "prometheus" / "portion.rules.yml"
SECONDS = 60
VARIABLES = {"$__rate_interval": "5m", "$__range": "1h"}
SERIES = re.compile(r"\b(?:portion|mcp_server|process)_\w+")


def promtool(*arguments, given=None):
    done = subprocess.run(["promtool", *map(str, arguments)], input=given, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def port():
    """Portion that has served something of every kind."""
    port = free_port()
    with Listening(served("--admin", f"127.0.0.1:{port}", "--", *FIXTURE)) as portion, Peer(portion.url) as peer:
        peer.call("get_small_booking")
        first = Reply(peer.call("list_bookings"))
        peer.call("portion_read", cursor=first.next)
        peer.call("portion_read", cursor="forged")
        yield port


@pytest.fixture(scope="module")
def exposed(port):
    """Names of series, of those without a value yet too."""
    text, names = asked(port, "/metrics"), set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        names |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return names


def dashboard():
    return json.loads((DEPLOY / "grafana" / "portion.json").read_text())


def queries():
    """Every expression of the dashboard, its variables filled in."""
    board = dashboard()
    found = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    found += [annotation["expr"] for annotation in board["annotations"]["list"]]
    for name, value in VARIABLES.items():
        found = [query.replace(name, value) for query in found]
    return found


def test_metrics_are_as_prometheus_wants_them(port):
    promtool("check", "metrics", given=asked(port, "/metrics"))


def test_rules_do_what_they_say():
    promtool("check", "rules", RULES)
    promtool("test", "rules", RULES.with_name("portion.rules.test.yml"))


def test_rules_are_about_metrics_that_there_are(exposed):
    named = set(SERIES.findall(re.sub(r"portion:\w+:\w+", "", RULES.read_text())))
    assert named and named <= exposed, named - exposed


def test_the_dashboard_asks_for_metrics_that_there_are(exposed, tmp_path):
    expressions = queries()
    rules = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(expressions)]
    (tmp_path / "rules.json").write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", tmp_path / "rules.json")
    named = {name for query in expressions for name in SERIES.findall(query)}
    assert named and named <= exposed, named - exposed


def test_the_dashboard_has_a_place_for_each_panel():
    taken = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells


def test_the_metrics_are_all_listed(exposed):
    listed = (REPOSITORY / "docs/reference/metrics.md").read_text()
    for name in exposed:
        assert f"`{re.sub('_(bucket|sum|count)$', '', name)}`" in listed, name


@contextmanager
def prometheus(port, tmp_path):
    """A function that waits until Prometheus, which scrapes every second, answers a query so."""
    own = free_port()
    (tmp_path / "prometheus.yml").write_text(
        f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{RULES}']\n"
        f"scrape_configs: [{{job_name: portion, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n"
    )
    command = ["prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data"]
    command.append(f"--web.listen-address=127.0.0.1:{own}")

    def value(query):
        try:
            answer = json.loads(asked(own, f"/api/v1/query?{urllib.parse.urlencode({'query': query})}"))
        except OSError:
            return None
        return [float(sample["value"][1]) for sample in answer["data"]["result"]]

    def answers(query, expect, seconds=SECONDS):
        holds = lambda: value(query) == expect
        until(holds, f"{query}: {expect}", seconds=seconds, pause=0.2, told=lambda: value(query))

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            answers('up{job="portion"}', [1])
            yield answers
        finally:
            process.terminate()


def test_prometheus_scrapes_it_and_evaluates_the_rules(port, tmp_path):
    with prometheus(port, tmp_path) as answers:
        answers("sum(portion_requests_total)", [4])
        answers('portion_calls_oversized_total{endpoint="list_bookings"}', [1])
        answers("count(portion:overhead_seconds:p95_5m)", [1])
        answers("sum(ALERTS)", [])


def test_the_first_burst_is_an_alert_within_30_seconds(tmp_path):
    port = free_port()
    with (
        Listening(served("--admin", f"127.0.0.1:{port}", "--", *FIXTURE)) as portion,
        Peer(portion.url) as peer,
        prometheus(port, tmp_path) as answers,
    ):
        answers("portion_all_calls_sized_total", [0])
        for _ in range(60):
            peer.call("list_bookings")
        firing = 'count(ALERTS{alertname="PortionOversizedAttempts",alertstate="firing"})'
        answers(firing, [1], seconds=30)
        answers("portion_all_calls_oversized_total", [60])
        answers("portion:oversized:share5m", [1], seconds=30)
        answers("sum(portion_all_requests_total) == bool sum(portion_requests_total)", [1])


def starts(arguments, tmp_path, config):
    """Starts Portion with the arguments of a file, with paths and addresses of this test. Returns its health, and its exit code
    after SIGTERM."""
    (tmp_path / "portion.yaml").write_text(config)
    admin = free_port()
    command = [PORTION]
    for argument in arguments:
        argument = argument.replace("/etc/portion/portion.yaml", str(tmp_path / "portion.yaml"))
        argument = argument.replace("/var/lib/portion", str(tmp_path)).replace("0.0.0.0:8765", "127.0.0.1:0")
        command.append(argument.replace("0.0.0.0:9465", f"127.0.0.1:{admin}"))
    if "--admin" not in " ".join(arguments):
        command += ["--admin", f"127.0.0.1:{admin}", "--listen", "127.0.0.1:0"]
    with Listening(command) as portion:
        health = json.loads(asked(admin, "/health"))["status"]
    return health, portion.process.returncode


CONFIG = "upstreams:\n  docs: {url: https://docs.example.com/mcp}\n"


def test_the_service_of_systemd_starts(tmp_path):
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "systemd" / "portion.service")
    program, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert program == "/usr/local/bin/portion"
    service = unit["Service"]
    assert starts(arguments, tmp_path, CONFIG) == ("ok", int(service["SuccessExitStatus"])), "a stop is no failure"
    assert int(service["TimeoutStopSec"]) > 30, "running requests have 30 s to finish"


def test_the_image_starts(tmp_path):
    lines = (DEPLOY / "docker" / "Dockerfile").read_text().splitlines()
    (arguments,) = [line.removeprefix("CMD ") for line in lines if line.startswith("CMD ")]
    assert starts(json.loads(arguments), tmp_path, CONFIG) == ("ok", 143)


def test_the_deployment_of_kubernetes_starts(tmp_path):
    text = (DEPLOY / "kubernetes" / "portion.yaml").read_text()
    objects = {each["kind"]: each for each in yaml.safe_load_all(text)}
    assert set(objects) == {"ConfigMap", "Deployment", "Service", "NetworkPolicy"}
    pod = objects["Deployment"]["spec"]["template"]
    assert objects["Service"]["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert pod["spec"]["terminationGracePeriodSeconds"] > 30
    (container,) = pod["spec"]["containers"]
    assert starts(container["args"], tmp_path, objects["ConfigMap"]["data"]["portion.yaml"]) == ("ok", 143)
