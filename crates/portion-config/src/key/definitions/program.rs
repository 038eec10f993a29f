//! Keys for the program only: listeners, logs, records and alerts.

use super::KEY_DEFAULTS;
use crate::key::{CliFlag, Key, KeyGroup, Placement, ValueKind};

const LISTENERS: Key =
    Key { group: KeyGroup::Listeners, placement: Placement::Top, is_reloadable: false, ..KEY_DEFAULTS };
const LOG: Key =
    Key { group: KeyGroup::Log, placement: Placement::Top, is_reloadable: false, ..KEY_DEFAULTS };

const ALERTS: Key = Key { group: KeyGroup::Alerts, placement: Placement::Top, ..KEY_DEFAULTS };

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "listen",
        kind: ValueKind::Address,
        default: "127.0.0.1:8765",
        value_name: "ADDRESS",
        doc: "Where to listen; port 0 takes a free one",
        ..LISTENERS
    },
    Key {
        name: "admin",
        kind: ValueKind::Address,
        keywords: &["off"],
        default: "127.0.0.1:9465",
        value_name: "ADDRESS",
        doc: "Where health, metrics and records are served; off: nowhere",
        ..LISTENERS
    },
    Key {
        name: "allowHosts",
        kind: ValueKind::Names,
        keywords: &["none"],
        default: "none",
        value_name: "HOSTS",
        doc: "Further names by which we may be asked (Host); localhost and loopback addresses always are, other addresses of \
              this machine where --insecure lets others reach it",
        flag: CliFlag::Renamed("allow-host"),
        ..LISTENERS
    },
    Key {
        name: "allowOrigins",
        kind: ValueKind::Names,
        keywords: &["none"],
        default: "none",
        value_name: "ORIGINS",
        doc: "Origins whose pages may ask, such as https://app.example.com",
        flag: CliFlag::Renamed("allow-origin"),
        ..LISTENERS
    },
    Key {
        name: "insecure",
        kind: ValueKind::Boolean,
        default: "false",
        value_name: "BOOL",
        doc: "Listen at addresses that other machines can reach, although callers are not authenticated here",
        flag: CliFlag::OptionalValue("true"),
        ..LISTENERS
    },
    Key {
        name: "principalHeaders",
        kind: ValueKind::Names,
        default: "Authorization, Proxy-Authorization, Cookie, X-API-Key, Api-Key, X-Auth-Token",
        value_name: "HEADERS",
        doc: "Headers that carry credentials: callers that differ in one of them share nothing",
        flag: CliFlag::Renamed("principal-header"),
        ..LISTENERS
    },
    Key {
        name: "drainTimeout",
        kind: ValueKind::Duration(1, 3600),
        default: "30s",
        value_name: "TIME",
        doc: "How long requests that run may take to finish after a signal to end; new ones are refused meanwhile",
        ..LISTENERS
    },
    Key {
        name: "telemetry",
        kind: ValueKind::Text,
        keywords: &["off", "auto"],
        default: "auto",
        value_name: "FILE",
        doc: "Where requests are recorded, in sizes and codes, never content: auto, the user's data directory; a file; or \
              off",
        ..LOG
    },
    Key {
        name: "otlp",
        kind: ValueKind::Url,
        keywords: &["off", "auto"],
        default: "auto",
        value_name: "URL",
        doc: "Where metrics and traces are sent, by OTLP over HTTP: auto, where OTEL_EXPORTER_OTLP_ENDPOINT says, if \
              anywhere; the URL of a collector; or off",
        ..LOG
    },
    Key {
        name: "accuracySample",
        kind: ValueKind::Percent,
        default: "1",
        value_name: "PERCENT",
        doc: "How many replies in a hundred are counted once more, exactly, when they are on their way; small ones and \
              those of an endpoint whose estimates are badly wrong always are; 0: none but the latter",
        is_reloadable: true,
        ..LOG
    },
    Key {
        name: "logLevel",
        kind: ValueKind::Choice(&["off", "error", "warn", "info", "debug", "trace"]),
        default: "warn",
        value_name: "LEVEL",
        doc: "What is told on stderr: off, error, warn, info, debug or trace",
        ..LOG
    },
    Key {
        name: "logFormat",
        kind: ValueKind::Choice(&["text", "json"]),
        default: "text",
        value_name: "FORMAT",
        doc: "How it is told: text or json",
        ..LOG
    },
    Key {
        name: "alertOversized",
        kind: ValueKind::Percent,
        keywords: &["off"],
        default: "5",
        value_name: "PERCENT",
        doc: "Per cent of the calls, of twenty or more, whose results may be above the budget before there is an alert; off: any",
        ..ALERTS
    },
    Key {
        name: "alertWindow",
        kind: ValueKind::Duration(1, 86_400),
        default: "5m",
        value_name: "TIME",
        doc: "How far back is looked for that",
        ..ALERTS
    },
    Key {
        name: "alertWebhook",
        kind: ValueKind::Webhook,
        keywords: &["none"],
        default: "none",
        value_name: "URL",
        doc: "Where alerts are posted as JSON, with a text that chats show; secrets by ${NAME} or ${file:/path}",
        is_reloadable: false,
        ..ALERTS
    },
];
