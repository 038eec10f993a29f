//! Keys for the program only: listeners, logs, records and alerts.

use crate::key::key_definition::KEY_DEFAULTS;
use crate::key::{CliFlag, Key, KeyGroup, LEVELS, Placement, ValueKind};

const LISTENERS: Key =
    Key { group: KeyGroup::Listeners, placement: Placement::Top, is_reloadable: false, ..KEY_DEFAULTS };
const LOG: Key =
    Key { group: KeyGroup::Log, placement: Placement::Top, is_reloadable: false, ..KEY_DEFAULTS };

const ALERTS: Key = Key { group: KeyGroup::Alerts, placement: Placement::Top, ..KEY_DEFAULTS };

keys! {
    LISTENERS {
        "listen" "ADDRESS": Address = "127.0.0.1:8765",
            "Address to listen on; port 0: any free port";
        "admin" "ADDRESS": Address or ["off"] = "127.0.0.1:9465",
            "Address for health, metrics and records; off: none";
        "allowHosts" "HOSTS": Names or ["none"] = "none", flag: CliFlag::Renamed("allow-host"),
            "Additional names in the Host header, beside localhost, loopback and, with --insecure, other \
             addresses of this machine; *: every host";
        "allowOrigins" "ORIGINS": Names or ["none"] = "none", flag: CliFlag::Renamed("allow-origin"),
            "Web origins whose pages may send requests, such as https://app.example.com; *: every origin";
        "auth" "METHOD": Choice(&["none", "bearer", "jwt", "passthrough"]) = "none",
            "Authentication of callers: none, bearer (tokenHashes), jwt (JSON Web Tokens of an issuer) or \
             passthrough (by the only upstream)";
        "tokenHashes" "NAME=HASH": TokenHashes or ["none"] = "none", flag: CliFlag::Renamed("token-hash"),
            "Tokens of callers with auth bearer, as `portion token NAME` prints them";
        "jwtIssuer" "ISSUER": TextOrUrl,
            "Issuer of JSON Web Tokens, the exact value of iss";
        "jwtAudience" "AUDIENCE": Text,
            "Audience of JSON Web Tokens, the exact value of aud or one of its values";
        "jwksUrl" "URL": Url,
            "URL of the issuer's keys, a JSON Web Key Set: https, or http on this machine";
        "jwtScopes" "SCOPES": Names or ["none"] = "none", flag: CliFlag::Renamed("jwt-scope"),
            "Scopes that a JSON Web Token must have";
        "publicUrl" "URL": Url,
            "URL under which clients reach the listener, for metadata that names the issuer (default: http \
             and the host of the request)";
        "adminTokenHashes" "NAME=HASH": TokenHashes or ["none"] = "none",
            flag: CliFlag::Renamed("admin-token-hash"),
            "Tokens for the admin address, as `portion token NAME` prints them; other machines need one";
        "insecure" "BOOL": Boolean = "false", flag: CliFlag::OptionalValue("true"),
            "Listen on addresses that other machines can reach, although callers are not authenticated";
        "principalHeaders" "HEADERS": Names = "Authorization, Proxy-Authorization, Cookie, X-API-Key, Api-Key, X-Auth-Token",
            flag: CliFlag::Renamed("principal-header"),
            "Headers with credentials: callers that differ in one of them share no kept results";
        "drainTimeout" "TIME": Duration(1, 3600) = "30s",
            "Time for running requests after a termination signal; new ones are refused";
    }

    LOG {
        "telemetry" "FILE": Text or ["off", "auto"] = "auto",
            "File for records of requests, never content: auto, in the user's data directory; a file; or off";
        "tokenPrice" "DOLLARS": Price or ["none"] = "none",
            "Price of a million input tokens in US dollars, for the dashboard";
        "otlp" "URL": Url or ["off", "auto"] = "auto",
            "Destination of metrics and traces, OTLP over HTTP: auto, OTEL_EXPORTER_OTLP_ENDPOINT if it is \
             set; the URL of a collector; or off";
        "accuracySample" "PERCENT": Percent = "1", is_reloadable: true,
            "Percent of replies whose tokens are counted again after sending; small replies and wrong \
             estimates always are";
        "logLevel" "LEVEL": Choice(LEVELS) = "warn",
            "Log level on stderr: off, error, warn, info, debug or trace";
        "logFormat" "FORMAT": Choice(&["text", "json"]) = "text",
            "Log format: text or json";
    }

    ALERTS {
        "alertOversized" "PERCENT": Percent or ["off"] = "5",
            "Percent of calls, of at least twenty, whose results exceed the budget, that raises an alert; \
             off: no alerts";
        "alertOn" "CALLS": Choice(&["repeated", "every"]) = "repeated",
            "Calls that the alert counts: repeated (a session asks an endpoint again without limit or \
             fields) or every";
        "alertWindow" "TIME": Duration(1, 86_400) = "5m",
            "Time window of the alert";
        "alertWebhook" "URL": Webhook or ["none"] = "none", is_reloadable: false,
            "URL to which alerts are posted as JSON";
    }
}
