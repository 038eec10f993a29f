//! The servers that we stand in front of, and how their tools are listed.

use super::USUAL;
use crate::key::{Flag, Group, Key, Kind, Standing};

const TOOLS: Key = Key { group: Group::Tools, standing: Standing::Server, reloads: false, ..USUAL };
const SERVERS: Key =
    Key { group: Group::Servers, standing: Standing::Upstream, reloads: false, flag: Flag::Never, ..USUAL };

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "catalog",
        kind: Kind::Word(&["full", "trim", "lazy"]),
        default: "full",
        value_name: "STYLE",
        doc: "How much the list of tools says: full, trim (first sentences, schemas without \
              noise) or lazy (one line each, and a tool that describes the others)",
        ..TOOLS
    },
    Key {
        name: "advertise",
        kind: Kind::Names,
        or: &["lists", "all", "none"],
        default: "lists",
        value_name: "TOOLS",
        doc: "Which tools are listed with limit, cursor and fields: lists (those that answer \
              with lists), all, none, or names with * for any characters",
        ..TOOLS
    },
    Key {
        name: "readTool",
        kind: Kind::ToolName,
        default: "portion_read",
        value_name: "NAME",
        doc: "The name under which our reading tool is listed",
        ..TOOLS
    },
    Key {
        name: "queryTool",
        kind: Kind::ToolName,
        or: &["none"],
        default: "portion_query",
        value_name: "NAME",
        doc: "The name under which our querying tool is listed; none: it is not",
        ..TOOLS
    },
    Key {
        name: "describeTool",
        kind: Kind::ToolName,
        default: "portion_describe",
        value_name: "NAME",
        doc: "The name under which our describing tool is listed, with catalog lazy",
        ..TOOLS
    },
    Key {
        name: "endpoints",
        kind: Kind::Endpoints,
        value_name: "MAP",
        doc: "Settings for what a pattern matches: a name, a name with * for any characters, a \
              resource's URI, a route (GET /bookings/{id})",
        standing: Standing::Server,
        reloads: true,
        ..SERVERS
    },
    Key {
        name: "upstreams",
        kind: Kind::Upstreams,
        value_name: "MAP",
        doc: "The servers that we stand in front of, by name, each with url or command and \
              settings of its own",
        standing: Standing::Top,
        ..SERVERS
    },
    Key { name: "url", kind: Kind::Url, value_name: "URL", doc: "Where a server over HTTP is", ..SERVERS },
    Key {
        name: "headers",
        kind: Kind::Secrets,
        value_name: "MAP",
        doc: "What each request to it carries; secrets by ${NAME} or ${file:/path}",
        ..SERVERS
    },
    Key {
        name: "transport",
        kind: Kind::Word(&["auto", "http", "sse"]),
        default: "auto",
        value_name: "NAME",
        doc: "How it speaks: auto finds out, http is streamable HTTP, sse that of 2024-11-05",
        ..SERVERS
    },
    Key {
        name: "command",
        kind: Kind::Command,
        value_name: "CMD",
        doc: "What starts a server: a list of words, or a line as a shell would take it",
        ..SERVERS
    },
    Key {
        name: "env",
        kind: Kind::Secrets,
        value_name: "MAP",
        doc: "Variables that it gets beside ours; secrets by ${NAME} or ${file:/path}",
        ..SERVERS
    },
];
