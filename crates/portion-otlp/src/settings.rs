//! Where to send what: as our configuration says, else the variables of OpenTelemetry,
//! <https://opentelemetry.io/docs/specs/otel/protocol/exporter/>. Headers, samplers, intervals and attributes of the resource
//! are read from theirs by the SDK itself.

use std::time::Duration;

/// How long a collector may take to answer, unless a variable says otherwise: the default of the specification.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The protocol that is spoken, as the variables have it.
const SPOKEN: &str = "http/protobuf";

/// Where to send what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where spans go, if anywhere.
    pub traces: Option<Signal>,
    /// Where measurements go, if anywhere.
    pub metrics: Option<Signal>,
}

/// Where one kind of things goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The whole URL.
    pub endpoint: String,
    /// How long the collector may take.
    pub timeout: Duration,
}

impl Settings {
    /// What is to be sent to the `collector`, a URL, or without one where variables say; `None` where nothing is.
    pub fn of(collector: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        // An empty variable is as good as none, says the specification.
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        if variable("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return None;
        }
        let collector = collector.map(ToOwned::to_owned);
        let signal = |name: &str, path: &str| {
            if variable(&format!("OTEL_{name}_EXPORTER")).is_some_and(|exporter| exporter == "none") {
                return None;
            }
            let below = |base: String| format!("{}/{path}", base.trim_end_matches('/'));
            let own = |what: &str| variable(&format!("OTEL_EXPORTER_OTLP_{name}_{what}"));
            let either = |what: &str| own(what).or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{what}")));
            let named = || own("ENDPOINT").or_else(|| variable("OTEL_EXPORTER_OTLP_ENDPOINT").map(below));
            let endpoint = match collector.clone().map(below) {
                Some(ours) => ours,
                None => named().filter(|_| speaks(name, either("PROTOCOL").as_deref()))?,
            };
            let timeout = either("TIMEOUT")
                .and_then(|millis| millis.trim().parse().ok())
                .map_or(TIMEOUT, Duration::from_millis);
            Some(Signal { endpoint, timeout })
        };
        let settings =
            Self { traces: signal("TRACES", "v1/traces"), metrics: signal("METRICS", "v1/metrics") };
        (settings.traces.is_some() || settings.metrics.is_some()).then_some(settings)
    }
}

/// Whether the protocol is ours. What speaks another one would not understand us.
fn speaks(signal: &str, protocol: Option<&str>) -> bool {
    let other = protocol.map(str::trim).filter(|protocol| *protocol != SPOKEN);
    if let Some(protocol) = other {
        let signal = signal.to_ascii_lowercase();
        tracing::warn!(
            signal,
            protocol,
            "nothing of it is sent to the collector: {SPOKEN} is spoken, not what OTEL_EXPORTER_OTLP_PROTOCOL says; \
             name the collector's port for that, usually 4318, with --otlp"
        );
    }
    other.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where traces and metrics go, and how many milliseconds they may take.
    fn check(collector: Option<&str>, variables: &[(&str, &str)], expect: [Option<(&str, u64)>; 2]) {
        let of = |name: &str| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let [traces, metrics] = expect.map(|signal| {
            signal.map(|(endpoint, millis)| Signal {
                endpoint: endpoint.into(),
                timeout: Duration::from_millis(millis),
            })
        });
        let expect = (traces.is_some() || metrics.is_some()).then_some(Settings { traces, metrics });
        assert_eq!(Settings::of(collector, of), expect, "{variables:?}");
    }

    #[test]
    fn where_things_go() {
        let (traces, metrics) = ("http://c:4318/v1/traces", "http://c:4318/v1/metrics");
        let both = [Some((traces, 10_000)), Some((metrics, 10_000))];
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        check(None, &[], [None, None]);
        check(None, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")], [None, None]);
        check(Some("http://c:4318"), &[], both);
        check(None, &[endpoint], both);
        check(Some("http://c:4318"), &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://other")], both);
        check(Some("http://c:4318"), &[("OTEL_SDK_DISABLED", "TRUE")], [None, None]);
        check(None, &[endpoint, ("OTEL_METRICS_EXPORTER", "none")], [both[0], None]);
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/own");
        check(None, &[own], [Some(("http://t/own", 10_000)), None]);
        let times = [("OTEL_EXPORTER_OTLP_TIMEOUT", "500"), ("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "70")];
        check(Some("http://c:4318"), &times, [Some((traces, 500)), Some((metrics, 70))]);
        check(Some("http://c:4318"), &[("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")], both);
        let protocol = |protocol| ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol);
        check(None, &[endpoint, protocol("http/protobuf")], both);
        check(None, &[endpoint, protocol("grpc")], [None, None]);
        check(None, &[endpoint, ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json")], [None, both[1]]);
        check(Some("http://c:4318"), &[protocol("grpc")], both);
    }
}
