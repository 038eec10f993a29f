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

keys! {
    TOOLS {
        "catalog" "STYLE": Choice(&["full", "trim", "lazy"]) = "full",
            "Detail of the tool list: full, trim (first sentences, shorter schemas) or lazy (a line per \
             tool)";
        "advertise" "TOOLS": Names or ["lists", "all", "none"] = "lists",
            "Tools listed with Portion's arguments: lists (limit, cursor, fields and query where lists \
             return, query on others that read), all, none, or names";
        "queryArgument" "NAME": ToolName or ["none"] = "query",
            "Argument by which a first call, or a request over HTTP, asks a query; none: there is none";
        "readTool" "NAME": ToolName = "portion_read",
            "Listed name of the read tool";
        "queryTool" "NAME": ToolName or ["none"] = "portion_query",
            "Listed name of the query tool; none: not listed";
        "describeTool" "NAME": ToolName = "portion_describe",
            "Listed name of the describe tool, with catalog lazy";
    }

    SERVERS {
        "endpoints" "MAP": Endpoints, placement: Placement::TopOrUpstream, is_reloadable: true,
            "Settings by pattern: a name, * for any characters, a resource's URI, a route (GET \
             /bookings/{id})";
        "upstreams" "MAP": Upstreams, placement: Placement::Top,
            "Servers by name, each with url or command and its own settings";
        "url" "URL": Url,
            "URL of an HTTP server";
        "headers" "MAP": Secrets,
            "Headers of each request to the server; ${NAME} is an environment variable, ${file:/path} a file";
        "transport" "NAME": Choice(&["auto", "http", "sse"]) = "auto",
            "Transport of the server: auto (detected), http (streamable HTTP) or sse (revision 2024-11-05)";
        "login" "MAP": Secrets,
            "Logins at the server (docs/transports.md): a map of clientId, clientSecret, clientMetadataUrl, \
             scope, callbackPort, all optional";
        "command" "CMD": Command,
            "Command that starts a server: a list of words, or a shell-like line";
        "env" "MAP": Secrets,
            "Additional environment variables of the server";
        "openapi" "FILE": TextOrUrl,
            "OpenAPI document of a REST API at url, relative to the file: its operations become tools";
        "tools" "MAP": Tools,
            "Tools of a REST API at url (docs/rest.md): a map of names to description, request and \
             parameters";
        "include" "PATTERNS": Names,
            "Operations of the document that become tools: tool names, paths, or `METHOD /path`, * for any \
             characters";
        "exclude" "PATTERNS": Names,
            "Operations that become no tools; written like include";
        "queryParameters" "MAP": Secrets,
            "Query parameters of each request to the REST API";
        "basicAuth" "MAP": Secrets,
            "Basic authentication at the REST API: {user: NAME, password: '${PASSWORD}'}";
        "oauth" "MAP": Secrets,
            "OAuth 2.0 client credentials for the REST API: a map of url, clientId, clientSecret, scope";
        "callTimeout" "TIME": Duration(1, 3600) = "60s",
            "Longest duration of a call of the REST API, with its retries";
    }
}
