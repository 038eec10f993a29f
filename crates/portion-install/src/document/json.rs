//! Servers in JSON with comments.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged as _;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{
    Args, CommandLine, Entry, Launch, List, Literal, ParseError, Remote, error_at, indentation, line_of,
    mark_length,
};
use crate::format::Format;

/// Comments and trailing commas are accepted, because some clients write them.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Members with a URL, by client.
const URL_KEYS: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// Value of a file that is not an object.
const NO_ROOT: &str = "expected an object with the servers";
const NO_SERVERS: &str = "it is not an object with servers";
const NO_OBJECT: &str = "it is not an object";
const NO_COMMAND: &str = "it has neither a command nor a URL";
const NO_STRINGS: &str = "its arguments are not a list of strings";
const HEADERS_HELPER: &str = "its headers come from a program of the client (headersHelper)";
const OWN_OAUTH: &str = "it has settings for the OAuth of its client (oauth)";
const URL_IN_LIST_FORMAT: &str =
    "a server with a URL cannot be wrapped in this file: use portion serve --url";

/// Returns the servers of a file.
pub(super) fn servers(text: &str, format: Format) -> Result<Vec<Entry>, ParseError> {
    let mark = mark_length(text);
    let body = text.get(mark..).unwrap_or_default();
    let parsed = parse_to_ast(body, &CollectOptions::default(), &OPTIONS)
        .map_err(|error| error_at(text, error.range().start + mark, error.kind().to_string()))?;
    let source = Source { text, mark };
    let mut entries = Vec::new();
    match &parsed.value {
        // Comments only.
        None => {}
        Some(Value::Object(object)) => {
            for root in format.roots {
                source.collect(object, root, None, &mut entries);
            }
            for (_, entry) in &mut entries {
                entry.is_enabled &= is_admitted(object, entry);
            }
        }
        Some(other) => return Err(error_at(text, other.start() + mark, NO_ROOT)),
    }
    entries.sort_by_key(|(at, _)| *at);
    // A format without a client may reach an object by two roots.
    entries.dedup_by_key(|(at, _)| *at);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// The text, and the length of its byte order mark.
struct Source<'a> {
    text: &'a str,
    mark: usize,
}

impl Source<'_> {
    /// Adds the servers below an object, with their positions. A member that should have servers and is not an object is
    /// added in place of them.
    fn collect(
        &self,
        object: &Object<'_>,
        path: &[&str],
        scope: Option<&str>,
        entries: &mut Vec<(usize, Entry)>,
    ) {
        let Some((step, rest)) = path.split_first() else {
            let members = object.properties.iter().filter(|member| is_server(member));
            entries.extend(members.map(|member| (self.range(member).start, self.entry(member, scope))));
            return;
        };
        for member in &object.properties {
            let name = member.name.as_str();
            if *step != "*" && *step != name {
                continue;
            }
            match &member.value {
                Value::Object(inner) => {
                    self.collect(inner, rest, if *step == "*" { Some(name) } else { scope }, entries);
                }
                _ if rest.is_empty() => {
                    let launch = Launch::Unsupported(NO_SERVERS);
                    let entry = Entry { launch, ..self.entry(member, scope) };
                    entries.push((self.range(member).start, entry));
                }
                _ => {}
            }
        }
    }

    fn entry(&self, member: &ObjectProp<'_>, scope: Option<&str>) -> Entry {
        let object = member.value.as_object();
        let string = |name| object.and_then(|object| self.string(object, name));
        let text = |name| string(name).map(|literal| literal.value);
        let launch = match &member.value {
            Value::Object(object) => self.launch(object),
            _ => Launch::Unsupported(NO_OBJECT),
        };
        Entry {
            scope: scope.map(str::to_owned),
            name: member.name.as_str().to_owned(),
            line: line_of(self.text, self.range(member).start),
            env: object.map(environment).unwrap_or_default(),
            headers: texts_of(object.and_then(|object| find(object, "headers"))).flatten().collect(),
            env_file: text("envFile"),
            cwd: text("cwd"),
            is_enabled: object.is_none_or(is_enabled),
            kind: string("type"),
            launch,
        }
    }

    fn launch(&self, object: &Object<'_>) -> Launch {
        let Some(command) = find(object, "command") else { return self.remote(object) };
        match &command.value {
            Value::StringLit(_) => self.command(object, command),
            Value::Array(array) => self.command_list(array, command),
            // Zed's older form: {"command": {"path": …, "args": […]}}.
            Value::Object(inner) => match find(inner, "path") {
                Some(path) if matches!(path.value, Value::StringLit(_)) => self.command(inner, path),
                _ => Launch::Unsupported("its command has no path"),
            },
            _ => Launch::Unsupported("its command is not a string"),
        }
    }

    fn command(&self, object: &Object<'_>, command: &ObjectProp<'_>) -> Launch {
        let Some(program) = self.literal(&command.value) else { return Launch::Unsupported(NO_COMMAND) };
        if program.value.trim().is_empty() {
            return Launch::Unsupported("its command is empty");
        }
        let args = match find(object, "args") {
            None => {
                let colon = self.colon(command);
                let prefix = format!(",{}\"args\"{colon}", self.separator(command));
                Args::Missing { at: program.range.end, prefix }
            }
            Some(member) => {
                let Some(list) = member.value.as_array().and_then(|array| self.list(array)) else {
                    return Launch::Unsupported(NO_STRINGS);
                };
                let removal = self.removal(object, member);
                Args::Member { list, member: self.range(member), removal }
            }
        };
        let member = self.range(command);
        let env_removal = find(object, "env").map(|env| self.removal(object, env));
        Launch::Command(CommandLine { program, member, args, token_variable: None, env_removal })
    }

    fn command_list(&self, array: &Array<'_>, command: &ObjectProp<'_>) -> Launch {
        let Some(mut list) = self.list(array) else { return Launch::Unsupported(NO_STRINGS) };
        if list.items.first().is_none_or(|program| program.value.trim().is_empty()) {
            return Launch::Unsupported("its command is empty");
        }
        let program = list.items.remove(0);
        let member = self.range(command);
        let args = Args::Rest(list);
        Launch::Command(CommandLine { program, member, args, token_variable: None, env_removal: None })
    }

    fn remote(&self, object: &Object<'_>) -> Launch {
        let Some((member, url)) = URL_KEYS.iter().find_map(|key| {
            let member = find(object, key)?;
            Some((member, self.literal(&member.value)?))
        }) else {
            return Launch::Unsupported(NO_COMMAND);
        };
        if self.string(object, "type").is_some_and(|kind| kind.value == "remote") {
            return Launch::Unsupported(URL_IN_LIST_FORMAT);
        }
        for (name, reason) in [("headersHelper", HEADERS_HELPER), ("oauth", OWN_OAUTH)] {
            if find(object, name).is_some_and(|member| !matches!(member.value, Value::NullKeyword(_))) {
                return Launch::Unsupported(reason);
            }
        }
        let headers = find(object, "headers");
        let Some(lines) = texts_of(headers).collect::<Option<Vec<_>>>() else {
            return Launch::Unsupported("its headers are not strings");
        };
        if headers.is_some_and(|headers| self.has_comments(headers)) {
            return Launch::Unsupported("its headers have comments, which would be lost");
        }
        let has_headers = !lines.is_empty();
        Launch::Remote(Remote {
            url: url.value,
            url_key: member.name.as_str().to_owned(),
            member: self.range(member),
            member_separator: format!(",{}", self.separator(member)),
            colon: self.colon(member).to_owned(),
            headers: lines,
            headers_member: headers.filter(|_| has_headers).map(|headers| self.range(headers)),
            token_variable: None,
        })
    }

    fn string(&self, object: &Object<'_>, name: &str) -> Option<Literal> {
        self.literal(&find(object, name)?.value)
    }

    fn literal(&self, value: &Value<'_>) -> Option<Literal> {
        let literal = value.as_string_lit()?;
        Some(Literal { range: self.range(literal), value: literal.value.to_string() })
    }

    fn list(&self, array: &Array<'_>) -> Option<List> {
        let items = array.elements.iter().map(|item| self.literal(item)).collect::<Option<_>>()?;
        Some(List { open: self.range(array).start + 1, items })
    }

    fn range(&self, node: &impl jsonc_parser::common::Ranged) -> Range<usize> {
        node.start() + self.mark..node.end() + self.mark
    }

    /// Returns what stands before a member on a line of its own, else a space; nothing if the file has no spaces.
    fn separator(&self, member: &ObjectProp<'_>) -> &str {
        match indentation(self.text, self.range(member).start) {
            "" if self.colon(member) == ":" => "",
            "" => " ",
            own_line => own_line,
        }
    }

    /// Returns the text between a name and its value, or the usual one if there is a comment.
    fn colon(&self, member: &ObjectProp<'_>) -> &str {
        let between = member.name.end() + self.mark..member.value.start() + self.mark;
        let between = self.text.get(between).unwrap_or_default();
        if between.contains('/') { ": " } else { between }
    }

    /// Returns true if there are comments in a member whose value is an object.
    fn has_comments(&self, member: &ObjectProp<'_>) -> bool {
        let own = self.range(member);
        let tokens = member.value.as_object().into_iter().flat_map(|object| &object.properties);
        let tokens = tokens.flat_map(|inner| {
            let name = inner.name.start() + self.mark..inner.name.end() + self.mark;
            [name, self.range(&inner.value)]
        });
        let name = member.name.start() + self.mark..member.name.end() + self.mark;
        let mut at = own.start;
        let mut gaps =
            std::iter::once(name).chain(tokens).chain(std::iter::once(own.end..own.end)).map(|token| {
                let gap = self.text.get(at..token.start).unwrap_or_default();
                at = token.end;
                gap
            });
        gaps.any(|gap| gap.contains('/'))
    }

    /// Returns the range of a member with the comma that separates it from its neighbour.
    fn removal(&self, object: &Object<'_>, member: &ObjectProp<'_>) -> Range<usize> {
        let own = self.range(member);
        let starts = || object.properties.iter().map(|other| self.range(other));
        if let Some(before) = starts().rfind(|other| other.end <= own.start) {
            return before.end..own.end;
        }
        starts().find(|other| other.start >= own.end).map_or(own.clone(), |after| own.start..after.start)
    }
}

/// Returns the last member of a name: that is the one that parsers of JSON use.
fn find<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().rfind(|member| member.name.as_str() == name)
}

/// Returns false for `servers` inside of `mcp`, which is a map of servers.
fn is_server(member: &ObjectProp<'_>) -> bool {
    let Value::Object(object) = &member.value else { return true };
    let holds_servers = object.properties.iter().all(|inner| matches!(inner.value, Value::Object(_)));
    !(member.name.as_str() == "servers" && holds_servers && !object.properties.is_empty())
}

/// Returns false if a server has `enabled: false` or `disabled: true`.
fn is_enabled(server: &Object<'_>) -> bool {
    let flag = |name: &str| match find(server, name)?.value {
        Value::BooleanLit(ref literal) => Some(literal.value),
        _ => None,
    };
    flag("enabled") != Some(false) && flag("disabled") != Some(true)
}

/// Returns false for a server that a list of the file leaves out: `mcp.excluded` and `mcp.allowed` of Gemini CLI, and
/// `disabledMcpServers` of a project of Claude Code.
fn is_admitted(root: &Object<'_>, entry: &Entry) -> bool {
    let lists = |path: &[&str]| {
        let (name, objects) = path.split_last()?;
        let object = objects.iter().try_fold(root, |object, step| find(object, step)?.value.as_object())?;
        let list = find(object, name)?.value.as_array()?;
        let mut names = list.elements.iter().filter_map(|item| item.as_string_lit());
        Some(names.any(|item| *item.value == *entry.name))
    };
    let scope = entry.scope.as_deref();
    lists(&["mcp", "excluded"]) != Some(true)
        && lists(&["mcp", "allowed"]) != Some(false)
        && scope.and_then(|scope| lists(&["projects", scope, "disabledMcpServers"])) != Some(true)
}

/// Returns the variables of a server.
fn environment(server: &Object<'_>) -> Vec<(String, String)> {
    // Zed's older form has them beside the path.
    let inner = find(server, "command").and_then(|command| command.value.as_object()).unwrap_or(server);
    let member = find(inner, "env").or_else(|| find(inner, "environment"));
    texts_of(member).flatten().collect()
}

/// Returns the names and texts in an object; `None` for a value that is no text.
fn texts_of(object: Option<&ObjectProp<'_>>) -> impl Iterator<Item = Option<(String, String)>> {
    let members = object.and_then(|object| object.value.as_object()).map(|object| object.properties.iter());
    let text = |one: &ObjectProp<'_>| {
        Some((one.name.as_str().to_owned(), one.value.as_string_lit()?.value.to_string()))
    };
    members.into_iter().flatten().map(text)
}
