//! Keys for upstream servers and the listing of their tools.

use super::KEY_DEFAULTS;
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
        doc: "How much the list of tools says: full, trim (first sentences, schemas without \
              noise) or lazy (one line each, and a tool that describes the others)",
        ..TOOLS
    },
    Key {
        name: "advertise",
        kind: ValueKind::Names,
        keywords: &["lists", "all", "none"],
        default: "lists",
        value_name: "TOOLS",
        doc: "Which tools are listed with limit, cursor and fields: lists (those that answer \
              with lists), all, none, or names with * for any characters",
        ..TOOLS
    },
    Key {
        name: "readTool",
        kind: ValueKind::ToolName,
        default: "portion_read",
        value_name: "NAME",
        doc: "The name under which our reading tool is listed",
        ..TOOLS
    },
    Key {
        name: "queryTool",
        kind: ValueKind::ToolName,
        keywords: &["none"],
        default: "portion_query",
        value_name: "NAME",
        doc: "The name under which our querying tool is listed; none: it is not",
        ..TOOLS
    },
    Key {
        name: "describeTool",
        kind: ValueKind::ToolName,
        default: "portion_describe",
        value_name: "NAME",
        doc: "The name under which our describing tool is listed, with catalog lazy",
        ..TOOLS
    },
    Key {
        name: "endpoints",
        kind: ValueKind::Endpoints,
        value_name: "MAP",
        doc: "Settings for what a pattern matches: a name, a name with * for any characters, a \
              resource's URI, a route (GET /bookings/{id})",
        placement: Placement::TopOrUpstream,
        is_reloadable: true,
        ..SERVERS
    },
    Key {
        name: "upstreams",
        kind: ValueKind::Upstreams,
        value_name: "MAP",
        doc: "The servers that we stand in front of, by name, each with url or command and \
              settings of its own",
        placement: Placement::Top,
        ..SERVERS
    },
    Key {
        name: "url",
        kind: ValueKind::Url,
        value_name: "URL",
        doc: "Where a server over HTTP is",
        ..SERVERS
    },
    Key {
        name: "headers",
        kind: ValueKind::Secrets,
        value_name: "MAP",
        doc: "What each request to it carries; secrets by ${NAME} or ${file:/path}",
        ..SERVERS
    },
    Key {
        name: "transport",
        kind: ValueKind::Choice(&["auto", "http", "sse"]),
        default: "auto",
        value_name: "NAME",
        doc: "How it speaks: auto finds out, http is streamable HTTP, sse that of 2024-11-05",
        ..SERVERS
    },
    Key {
        name: "command",
        kind: ValueKind::Command,
        value_name: "CMD",
        doc: "What starts a server: a list of words, or a line as a shell would take it",
        ..SERVERS
    },
    Key {
        name: "env",
        kind: ValueKind::Secrets,
        value_name: "MAP",
        doc: "Variables that it gets beside ours; secrets by ${NAME} or ${file:/path}",
        ..SERVERS
    },
];
