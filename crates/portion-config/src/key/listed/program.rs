//! What is of the program alone: where it listens, what it tells.

use super::USUAL;
use crate::key::{Flag, Group, Key, Kind, Standing};

const LISTENERS: Key = Key { group: Group::Listeners, standing: Standing::Top, reloads: false, ..USUAL };
const LOG: Key = Key { group: Group::Log, standing: Standing::Top, reloads: false, ..USUAL };

const ALERTS: Key = Key { group: Group::Alerts, standing: Standing::Top, ..USUAL };

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "listen",
        kind: Kind::Address,
        default: "127.0.0.1:8765",
        value_name: "ADDRESS",
        doc: "Where to listen; port 0 takes a free one",
        ..LISTENERS
    },
    Key {
        name: "admin",
        kind: Kind::Address,
        or: &["off"],
        default: "127.0.0.1:9465",
        value_name: "ADDRESS",
        doc: "Where health, metrics and records are served; off: nowhere",
        ..LISTENERS
    },
    Key {
        name: "allowHosts",
        kind: Kind::Names,
        or: &["none"],
        default: "none",
        value_name: "HOSTS",
        doc: "Further names by which we may be asked (Host); localhost and loopback addresses always are, other addresses of \
              this machine where --insecure lets others reach it",
        flag: Flag::Called("allow-host"),
        ..LISTENERS
    },
    Key {
        name: "allowOrigins",
        kind: Kind::Names,
        or: &["none"],
        default: "none",
        value_name: "ORIGINS",
        doc: "Origins whose pages may ask, such as https://app.example.com",
        flag: Flag::Called("allow-origin"),
        ..LISTENERS
    },
    Key {
        name: "insecure",
        kind: Kind::Truth,
        default: "false",
        value_name: "BOOL",
        doc: "Listen at addresses that other machines can reach, although callers are not authenticated here",
        flag: Flag::Bare("true"),
        ..LISTENERS
    },
    Key {
        name: "principalHeaders",
        kind: Kind::Names,
        default: "Authorization, Proxy-Authorization, Cookie, X-API-Key, Api-Key, X-Auth-Token",
        value_name: "HEADERS",
        doc: "Headers that carry credentials: callers that differ in one of them share nothing",
        flag: Flag::Called("principal-header"),
        ..LISTENERS
    },
    Key {
        name: "drainTimeout",
        kind: Kind::Time(1, 3600),
        default: "30s",
        value_name: "TIME",
        doc: "How long requests that run may take to finish after a signal to end; new ones are refused meanwhile",
        ..LISTENERS
    },
    Key {
        name: "telemetry",
        kind: Kind::Text,
        or: &["off", "auto"],
        default: "auto",
        value_name: "FILE",
        doc: "Where requests are recorded, in sizes and codes, never content: auto, the user's data directory; a file; or \
              off",
        ..LOG
    },
    Key {
        name: "otlp",
        kind: Kind::Url,
        or: &["off", "auto"],
        default: "auto",
        value_name: "URL",
        doc: "Where metrics and traces are sent, by OTLP over HTTP: auto, where OTEL_EXPORTER_OTLP_ENDPOINT says, if \
              anywhere; the URL of a collector; or off",
        ..LOG
    },
    Key {
        name: "accuracySample",
        kind: Kind::Percent,
        default: "1",
        value_name: "PERCENT",
        doc: "How many replies in a hundred are counted once more, exactly, when they are on their way; small ones and \
              those of an endpoint whose estimates are badly wrong always are; 0: none but the latter",
        reloads: true,
        ..LOG
    },
    Key {
        name: "logLevel",
        kind: Kind::Word(&["off", "error", "warn", "info", "debug", "trace"]),
        default: "warn",
        value_name: "LEVEL",
        doc: "What is told on stderr: off, error, warn, info, debug or trace",
        ..LOG
    },
    Key {
        name: "logFormat",
        kind: Kind::Word(&["text", "json"]),
        default: "text",
        value_name: "FORMAT",
        doc: "How it is told: text or json",
        ..LOG
    },
    Key {
        name: "alertOversized",
        kind: Kind::Percent,
        or: &["off"],
        default: "5",
        value_name: "PERCENT",
        doc: "Per cent of the calls, of twenty or more, whose results may be above the budget before there is an alert; off: any",
        ..ALERTS
    },
    Key {
        name: "alertWindow",
        kind: Kind::Time(1, 86_400),
        default: "5m",
        value_name: "TIME",
        doc: "How far back is looked for that",
        ..ALERTS
    },
    Key {
        name: "alertWebhook",
        kind: Kind::Webhook,
        or: &["none"],
        default: "none",
        value_name: "URL",
        doc: "Where alerts are posted as JSON, with a text that chats show; secrets by ${NAME} or ${file:/path}",
        reloads: false,
        ..ALERTS
    },
];
