//! Keys for upstream servers and the listing of their tools.

use crate::key::key_definition::KEY_DEFAULTS;
use crate::key::{CliFlag, Key, KeyGroup, Placement, ValueKind};

const TOOLS: Key =
    Key { group: KeyGroup::Tools, placement: Placement::TopOrUpstream, is_reloadable: false, ..KEY_DEFAULTS };
const SERVERS: Key = Key {
    group: KeyGroup::Servers,
    placement: Placement::Upstream,
    is_reloadable: false,
    flag: CliFlag::Disabled,
    ..KEY_DEFAULTS
};

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "catalog",
        kind: ValueKind::Choice(&["full", "trim", "lazy"]),
        default: "full",
        value_name: "STYLE",
        doc: "Detail of the tool list: full, trim (first sentences, shorter schemas) or lazy (a line per \
              tool)",
        ..TOOLS
    },
    Key {
        name: "advertise",
        kind: ValueKind::Names,
        keywords: &["lists", "all", "none"],
        default: "lists",
        value_name: "TOOLS",
        doc: "Tools listed with Portion's arguments: lists (limit, cursor, fields and query where lists \
              return, query on others that read), all, none, or names",
        ..TOOLS
    },
    Key {
        name: "queryArgument",
        kind: ValueKind::ToolName,
        keywords: &["none"],
        default: "query",
        value_name: "NAME",
        doc: "Argument by which a first call, or a request over HTTP, asks a query; none: there is none",
        ..TOOLS
    },
    Key {
        name: "readTool",
        kind: ValueKind::ToolName,
        default: "portion_read",
        value_name: "NAME",
        doc: "Listed name of the read tool",
        ..TOOLS
    },
    Key {
        name: "queryTool",
        kind: ValueKind::ToolName,
        keywords: &["none"],
        default: "portion_query",
        value_name: "NAME",
        doc: "Listed name of the query tool; none: not listed",
        ..TOOLS
    },
    Key {
        name: "describeTool",
        kind: ValueKind::ToolName,
        default: "portion_describe",
        value_name: "NAME",
        doc: "Listed name of the describe tool, with catalog lazy",
        ..TOOLS
    },
    Key {
        name: "endpoints",
        kind: ValueKind::Endpoints,
        value_name: "MAP",
        doc: "Settings by pattern: a name, * for any characters, a resource's URI, a route (GET \
              /bookings/{id})",
        placement: Placement::TopOrUpstream,
        is_reloadable: true,
        ..SERVERS
    },
    Key {
        name: "upstreams",
        kind: ValueKind::Upstreams,
        value_name: "MAP",
        doc: "Servers by name, each with url or command and its own settings",
        placement: Placement::Top,
        ..SERVERS
    },
    Key { name: "url", kind: ValueKind::Url, value_name: "URL", doc: "URL of an HTTP server", ..SERVERS },
    Key {
        name: "headers",
        kind: ValueKind::Secrets,
        value_name: "MAP",
        doc: "Headers of each request to the server; ${NAME} is an environment variable, ${file:/path} a \
              file",
        ..SERVERS
    },
    Key {
        name: "transport",
        kind: ValueKind::Choice(&["auto", "http", "sse"]),
        default: "auto",
        value_name: "NAME",
        doc: "Transport of the server: auto (detected), http (streamable HTTP) or sse (revision 2024-11-05)",
        ..SERVERS
    },
    Key {
        name: "login",
        kind: ValueKind::Secrets,
        value_name: "MAP",
        doc: "Logins at the server (docs/transports.md): a map of clientId, clientSecret, \
              clientMetadataUrl, scope, callbackPort, all optional",
        ..SERVERS
    },
    Key {
        name: "command",
        kind: ValueKind::Command,
        value_name: "CMD",
        doc: "Command that starts a server: a list of words, or a shell-like line",
        ..SERVERS
    },
    Key {
        name: "env",
        kind: ValueKind::Secrets,
        value_name: "MAP",
        doc: "Additional environment variables of the server",
        ..SERVERS
    },
    Key {
        name: "openapi",
        kind: ValueKind::TextOrUrl,
        value_name: "FILE",
        doc: "OpenAPI document of a REST API at url, relative to the file: its operations become tools",
        ..SERVERS
    },
    Key {
        name: "tools",
        kind: ValueKind::Tools,
        value_name: "MAP",
        doc: "Tools of a REST API at url (docs/rest.md): a map of names to description, request and \
              parameters",
        ..SERVERS
    },
    Key {
        name: "include",
        kind: ValueKind::Names,
        value_name: "PATTERNS",
        doc: "Operations of the document that become tools: tool names, paths, or `METHOD /path`, * for \
              any characters",
        ..SERVERS
    },
    Key {
        name: "exclude",
        kind: ValueKind::Names,
        value_name: "PATTERNS",
        doc: "Operations that become no tools; written like include",
        ..SERVERS
    },
    Key {
        name: "queryParameters",
        kind: ValueKind::Secrets,
        value_name: "MAP",
        doc: "Query parameters of each request to the REST API",
        ..SERVERS
    },
    Key {
        name: "basicAuth",
        kind: ValueKind::Secrets,
        value_name: "MAP",
        doc: "Basic authentication at the REST API: {user: NAME, password: '${PASSWORD}'}",
        ..SERVERS
    },
    Key {
        name: "oauth",
        kind: ValueKind::Secrets,
        value_name: "MAP",
        doc: "OAuth 2.0 client credentials for the REST API: a map of url, clientId, clientSecret, scope",
        ..SERVERS
    },
    Key {
        name: "callTimeout",
        kind: ValueKind::Duration(1, 3600),
        default: "60s",
        value_name: "TIME",
        doc: "Longest duration of a call of the REST API, with its retries",
        ..SERVERS
    },
];
