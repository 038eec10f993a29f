"""The files in `deploy/`: checked by their own tools, against the metrics of Portion, and by starting it as they say."""

import base64
import configparser
import hashlib
import json
import re
import shlex
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager

import pytest
import yaml

from harness.command import FIXTURE, PORTION, REPOSITORY
from harness.hook import asked
from harness.listening import Listening, served
from harness.peer import Peer
from harness.ports import free_port
from harness.redis import RedisServer
from harness.reply import Reply
from harness.waiting import until
from test_shared_store import Caller

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


def scraping(*ports, **options):
    return {"job_name": "portion", "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}], **options}


@contextmanager
def prometheus(job, tmp_path):
    """A function that waits until Prometheus, which scrapes every second, answers a query so."""
    own = free_port()
    config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(RULES)], "scrape_configs": [job]}
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))
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
            answers('count(up{job="portion"} == 1)', [len(job["static_configs"][0]["targets"])])
            yield answers
        finally:
            process.terminate()


def test_prometheus_scrapes_it_and_evaluates_the_rules(port, tmp_path):
    with prometheus(scraping(port), tmp_path) as answers:
        answers("sum(portion_requests_total)", [4])
        answers('portion_calls_oversized_total{endpoint="list_bookings"}', [1])
        answers("count(portion:overhead_seconds:p95_5m)", [1])
        answers("sum(ALERTS)", [])


def test_the_first_burst_is_an_alert_within_30_seconds(tmp_path):
    port = free_port()
    with (
        Listening(served("--admin", f"127.0.0.1:{port}", "--", *FIXTURE)) as portion,
        Peer(portion.url) as peer,
        prometheus(scraping(port), tmp_path) as answers,
    ):
        answers("portion_all_calls_sized_total", [0])
        for _ in range(60):
            peer.call("list_bookings")
        firing = 'count(ALERTS{alertname="PortionOversizedAttempts",alertstate="firing"})'
        answers(firing, [1], seconds=30)
        answers("portion_all_calls_oversized_total", [60])
        answers("portion:oversized:share5m", [1], seconds=30)
        answers("sum(portion_all_requests_total) == bool sum(portion_requests_total)", [1])


def local_arguments(arguments, tmp_path, admin):
    """The arguments of a file, with paths and addresses of this test."""
    places = {
        "/etc/portion/portion.yaml": str(tmp_path / "portion.yaml"), "/var/lib/portion": str(tmp_path),
        "0.0.0.0:8765": "127.0.0.1:0", "0.0.0.0:9465": f"127.0.0.1:{admin}",
    }
    for place, own in places.items():
        arguments = [argument.replace(place, own) for argument in arguments]
    if "--admin" not in " ".join(arguments):
        arguments += ["--admin", f"127.0.0.1:{admin}", "--listen", "127.0.0.1:0"]
    return [PORTION, *arguments]


def starts(arguments, tmp_path, config, env=None):
    """Starts Portion with the arguments of a file. Returns its health, and its exit code after SIGTERM."""
    (tmp_path / "portion.yaml").write_text(config)
    admin = free_port()
    with Listening(local_arguments(arguments, tmp_path, admin), env=env) as portion:
        health = json.loads(asked(admin, "/health"))["status"]
    return health, portion.process.returncode


def made_secrets(folder):
    """The variables that deploy/secrets.sh makes for Portion."""
    subprocess.run([DEPLOY / "secrets.sh", folder], check=True, capture_output=True)
    return dict(line.split("=", 1) for line in (folder / "portion.env").read_text().splitlines())


@pytest.fixture
def redis(tmp_path):
    with RedisServer(tmp_path) as redis:
        yield redis


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


def test_the_deployment_of_kubernetes_starts(tmp_path, redis):
    objects = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "portion.yaml").read_text()))
    named = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    assert len(named) == len(objects)
    for name in ("portion", "portion-valkey"):
        pod = named["Deployment", name]["spec"]["template"]
        labels = pod["metadata"]["labels"]
        assert named["Service", name]["spec"]["selector"].items() <= labels.items()
        assert named["NetworkPolicy", name]["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
        assert pod["spec"]["securityContext"]["runAsNonRoot"]
    deployment = named["Deployment", "portion"]["spec"]
    assert deployment["replicas"] == 2 and deployment["template"]["spec"]["terminationGracePeriodSeconds"] > 30
    (container,) = deployment["template"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": "admin"}
    assert container["envFrom"] == [{"secretRef": {"name": "portion"}}] and "--insecure" not in container["args"]
    config = named["ConfigMap", "portion"]["data"]["portion.yaml"]
    config = config.replace("redis://portion-valkey:6379", redis.url())
    assert starts(container["args"], tmp_path, config, made_secrets(tmp_path / "secrets")) == ("ok", 143)


def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def test_the_secrets_are_of_the_tokens_that_callers_get(tmp_path):
    made = made_secrets(tmp_path)
    for name, caller, file in (("PORTION_TOKEN_HASHES", "team", "caller"), ("PORTION_ADMIN_TOKEN_HASHES", "prometheus", "admin")):
        token = (tmp_path / f"{file}.token").read_bytes()
        assert made[name] == f"{caller}=sha256:{hashlib.sha256(token).hexdigest()}"
    assert len(base64.b64decode(made["PORTION_CURSOR_KEYS"])) == 32
    assert (tmp_path / "portion.env").stat().st_mode & 0o077 == 0
    again = subprocess.run([DEPLOY / "secrets.sh", tmp_path], capture_output=True, text=True)
    assert again.returncode == 1 and "is there already" in again.stderr


def test_compose_mounts_what_there_is_and_publishes_to_this_machine_alone(tmp_path):
    made_secrets(tmp_path)
    for name, service in compose().items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            there = tmp_path / source.removeprefix("./secrets/") if source.startswith("./secrets/") else DEPLOY / source
            assert not source.startswith("./") or there.is_file(), (name, volume)
        for file in [service["env_file"]] if "env_file" in service else []:
            assert (tmp_path / file.removeprefix("secrets/")).is_file(), (name, file)
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        assert "build" in service or re.search(r":v?\d", service["image"]), name
    folder = yaml.safe_load((DEPLOY / "compose/grafana-dashboards.yml").read_text())["providers"][0]["options"]["path"]
    assert f"./grafana/portion.json:{folder}/portion.json:ro" in compose()["grafana"]["volumes"]
    (source,) = yaml.safe_load((DEPLOY / "compose/grafana-sources.yml").read_text())["datasources"]
    assert source["type"] == "prometheus" and source["url"] == "http://prometheus:9090"


def test_the_instances_of_compose_share_results_and_are_scraped(tmp_path, redis):
    services, env = compose(), made_secrets(tmp_path / "secrets")
    config = yaml.safe_load((DEPLOY / "compose/portion.yaml").read_text())
    assert config["store"] == "redis://valkey:6379" and "valkey" in services
    config |= {"store": redis.url(), "upstreams": {"docs": {"command": shlex.join(FIXTURE)}}}
    (tmp_path / "portion.yaml").write_text(yaml.safe_dump(config))
    job = yaml.safe_load((DEPLOY / "compose/prometheus.yml").read_text())["scrape_configs"][0]
    (targets,) = [group["targets"] for group in job["static_configs"]]
    assert targets == [f"{name}:9465" for name in services if name.startswith("portion")]
    ports = [free_port(), free_port()]
    lines = [local_arguments(services[f"portion-{n}"]["command"], tmp_path, ports[n - 1]) for n in (1, 2)]
    token = {"Authorization": f"Bearer {(tmp_path / 'secrets/caller.token').read_text()}"}
    job |= scraping(*ports) | {"authorization": {"credentials_file": str(tmp_path / "secrets" / job["authorization"]["credentials_file"])}}
    with Listening(lines[0], env=env) as one, Listening(lines[1], env=env) as two, prometheus(job, tmp_path) as answers:
        first = Caller(one, credentials=token).call("list_bookings")
        second = Caller(two, credentials=token).call("portion_read", cursor=Reply(first).next)
        assert not second.get("isError") and Reply(second).next
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(urllib.request.Request(one.url, b"{}", {"Content-Type": "application/json"}))
        answers("sum(portion_requests_total)", [2])
