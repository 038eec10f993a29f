"""A collector of OpenTelemetry that keeps what it is sent, decoded by the published messages."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from .waiting import until

SECONDS = 60


class Collector:
    """Listens at `url`. `status` is what it answers, `delay` how many seconds it thinks before."""

    def __init__(self):
        self.status, self.delay = 200, 0
        self.traces, self.metrics, self.headers = [], [], []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self):
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()

    def spans(self):
        """All spans so far, as dictionaries."""
        scopes = [scope for sent in self.traces for whole in sent.resource_spans for scope in whole.scope_spans]
        return [span(each) for scope in scopes for each in scope.spans]

    def points(self, name):
        """The points of a metric as they were last sent."""
        for sent in reversed(self.metrics):
            scopes = [scope for whole in sent.resource_metrics for scope in whole.scope_metrics]
            found = [metric for scope in scopes for metric in scope.metrics if metric.name == name]
            if found:
                return points(found[0])
        return []

    def latest(self):
        """All points that were sent last, by the names of metrics."""
        scopes = [scope for whole in self.metrics[-1].resource_metrics for scope in whole.scope_metrics]
        return {metric.name: points(metric) for scope in scopes for metric in scope.metrics}

    def resource(self):
        return attributes(self.traces[0].resource_spans[0].resource.attributes)

    def until(self, holds, what):
        """Asks again until it holds: what is served is sent a moment later."""
        return until(holds, what, seconds=SECONDS, told=self.spans)

    def _handler(collector):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                time.sleep(collector.delay)
                if collector.status == 200:
                    collector._take(self.path, dict(self.headers), body)
                self.send_response(collector.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        return Handler

    def _take(self, path, headers, body):
        assert headers["content-type"] == "application/x-protobuf", headers
        self.headers.append(headers)
        if path == "/v1/traces":
            self.traces.append(ExportTraceServiceRequest.FromString(body))
        elif path == "/v1/metrics":
            self.metrics.append(ExportMetricsServiceRequest.FromString(body))


def span(it):
    return {
        "name": it.name,
        "kind": Span.SpanKind.Name(it.kind).removeprefix("SPAN_KIND_"),
        "trace": it.trace_id.hex(),
        "span": it.span_id.hex(),
        "parent": it.parent_span_id.hex(),
        "seconds": (it.end_time_unix_nano - it.start_time_unix_nano) / 1e9,
        "start": it.start_time_unix_nano / 1e9,
        "failed": it.status.code == Status.STATUS_CODE_ERROR,
        **attributes(it.attributes),
    }


def points(metric):
    """Each with its attributes and its value, or its count and its sum."""
    return [point(each) for each in getattr(metric, metric.WhichOneof("data")).data_points]


def point(it):
    if hasattr(it, "bucket_counts"):
        return {**attributes(it.attributes), "count": it.count, "sum": it.sum}
    return {**attributes(it.attributes), "sum": getattr(it, it.WhichOneof("value"))}


def attributes(pairs):
    return {pair.key: value(pair.value) for pair in pairs}


def value(it):
    kind = it.WhichOneof("value")
    return [value(each) for each in it.array_value.values] if kind == "array_value" else getattr(it, kind)
