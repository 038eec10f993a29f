//! Keys for the program only: listeners, logs, records and alerts.

use crate::key::key_definition::KEY_DEFAULTS;
use crate::key::{CliFlag, Key, KeyGroup, LEVELS, Placement, ValueKind};

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
        doc: "Address to listen on; port 0: any free port",
        ..LISTENERS
    },
    Key {
        name: "admin",
        kind: ValueKind::Address,
        keywords: &["off"],
        default: "127.0.0.1:9465",
        value_name: "ADDRESS",
        doc: "Address for health, metrics and records; off: none",
        ..LISTENERS
    },
    Key {
        name: "allowHosts",
        kind: ValueKind::Names,
        keywords: &["none"],
        default: "none",
        value_name: "HOSTS",
        doc: "Additional names in the Host header, beside localhost, loopback and, with --insecure, other \
              addresses of this machine; *: every host",
        flag: CliFlag::Renamed("allow-host"),
        ..LISTENERS
    },
    Key {
        name: "allowOrigins",
        kind: ValueKind::Names,
        keywords: &["none"],
        default: "none",
        value_name: "ORIGINS",
        doc: "Web origins whose pages may send requests, such as https://app.example.com; *: every origin",
        flag: CliFlag::Renamed("allow-origin"),
        ..LISTENERS
    },
    Key {
        name: "auth",
        kind: ValueKind::Choice(&["none", "bearer", "jwt", "passthrough"]),
        default: "none",
        value_name: "METHOD",
        doc: "Authentication of callers: none, bearer (tokenHashes), jwt (JSON Web Tokens of an issuer) or \
              passthrough (by the only upstream)",
        ..LISTENERS
    },
    Key {
        name: "tokenHashes",
        kind: ValueKind::TokenHashes,
        keywords: &["none"],
        default: "none",
        value_name: "NAME=HASH",
        doc: "Tokens of callers with auth bearer, as `portion token NAME` prints them",
        flag: CliFlag::Renamed("token-hash"),
        ..LISTENERS
    },
    Key {
        name: "jwtIssuer",
        kind: ValueKind::TextOrUrl,
        value_name: "ISSUER",
        doc: "Issuer of JSON Web Tokens, the exact value of iss",
        ..LISTENERS
    },
    Key {
        name: "jwtAudience",
        kind: ValueKind::Text,
        value_name: "AUDIENCE",
        doc: "Audience of JSON Web Tokens, the exact value of aud or one of its values",
        ..LISTENERS
    },
    Key {
        name: "jwksUrl",
        kind: ValueKind::Url,
        value_name: "URL",
        doc: "URL of the issuer's keys, a JSON Web Key Set: https, or http on this machine",
        ..LISTENERS
    },
    Key {
        name: "jwtScopes",
        kind: ValueKind::Names,
        keywords: &["none"],
        default: "none",
        value_name: "SCOPES",
        doc: "Scopes that a JSON Web Token must have",
        flag: CliFlag::Renamed("jwt-scope"),
        ..LISTENERS
    },
    Key {
        name: "publicUrl",
        kind: ValueKind::Url,
        value_name: "URL",
        doc: "URL under which clients reach the listener, for metadata that names the issuer (default: \
              http and the host of the request)",
        ..LISTENERS
    },
    Key {
        name: "adminTokenHashes",
        kind: ValueKind::TokenHashes,
        keywords: &["none"],
        default: "none",
        value_name: "NAME=HASH",
        doc: "Tokens for the admin address, as `portion token NAME` prints them; other machines need one",
        flag: CliFlag::Renamed("admin-token-hash"),
        ..LISTENERS
    },
    Key {
        name: "insecure",
        kind: ValueKind::Boolean,
        default: "false",
        value_name: "BOOL",
        doc: "Listen on addresses that other machines can reach, although callers are not authenticated",
        flag: CliFlag::OptionalValue("true"),
        ..LISTENERS
    },
    Key {
        name: "principalHeaders",
        kind: ValueKind::Names,
        default: "Authorization, Proxy-Authorization, Cookie, X-API-Key, Api-Key, X-Auth-Token",
        value_name: "HEADERS",
        doc: "Headers with credentials: callers that differ in one of them share no kept results",
        flag: CliFlag::Renamed("principal-header"),
        ..LISTENERS
    },
    Key {
        name: "drainTimeout",
        kind: ValueKind::Duration(1, 3600),
        default: "30s",
        value_name: "TIME",
        doc: "Time for running requests after a termination signal; new ones are refused",
        ..LISTENERS
    },
    Key {
        name: "telemetry",
        kind: ValueKind::Text,
        keywords: &["off", "auto"],
        default: "auto",
        value_name: "FILE",
        doc: "File for records of requests, never content: auto, in the user's data directory; a file; or \
              off",
        ..LOG
    },
    Key {
        name: "tokenPrice",
        kind: ValueKind::Price,
        keywords: &["none"],
        default: "none",
        value_name: "DOLLARS",
        doc: "Price of a million input tokens in US dollars, for the dashboard",
        ..LOG
    },
    Key {
        name: "otlp",
        kind: ValueKind::Url,
        keywords: &["off", "auto"],
        default: "auto",
        value_name: "URL",
        doc: "Destination of metrics and traces, OTLP over HTTP: auto, OTEL_EXPORTER_OTLP_ENDPOINT if it \
              is set; the URL of a collector; or off",
        ..LOG
    },
    Key {
        name: "accuracySample",
        kind: ValueKind::Percent,
        default: "1",
        value_name: "PERCENT",
        doc: "Percent of replies whose tokens are counted again after sending; small replies and wrong \
              estimates always are",
        is_reloadable: true,
        ..LOG
    },
    Key {
        name: "logLevel",
        kind: ValueKind::Choice(LEVELS),
        default: "warn",
        value_name: "LEVEL",
        doc: "Log level on stderr: off, error, warn, info, debug or trace",
        ..LOG
    },
    Key {
        name: "logFormat",
        kind: ValueKind::Choice(&["text", "json"]),
        default: "text",
        value_name: "FORMAT",
        doc: "Log format: text or json",
        ..LOG
    },
    Key {
        name: "alertOversized",
        kind: ValueKind::Percent,
        keywords: &["off"],
        default: "5",
        value_name: "PERCENT",
        doc: "Percent of calls, of at least twenty, whose results exceed the budget, that raises an alert; \
              off: no alerts",
        ..ALERTS
    },
    Key {
        name: "alertOn",
        kind: ValueKind::Choice(&["repeated", "every"]),
        default: "repeated",
        value_name: "CALLS",
        doc: "Calls that the alert counts: repeated (a session asks an endpoint again without limit or \
              fields) or every",
        ..ALERTS
    },
    Key {
        name: "alertWindow",
        kind: ValueKind::Duration(1, 86_400),
        default: "5m",
        value_name: "TIME",
        doc: "Time window of the alert",
        ..ALERTS
    },
    Key {
        name: "alertWebhook",
        kind: ValueKind::Webhook,
        keywords: &["none"],
        default: "none",
        value_name: "URL",
        doc: "URL to which alerts are posted as JSON",
        is_reloadable: false,
        ..ALERTS
    },
];
