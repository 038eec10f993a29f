//! Servers in TOML.

use std::ops::Range;

use toml_edit::{Array, Document, Item, Key, TableLike, Value};

use super::{
    Args, CommandLine, Entry, Launch, List, Literal, ParseError, Remote, error_at, line_of, mark_length,
};
use crate::format::Format;

const NO_SERVERS: &str = "it is not a table with servers";
const NO_TABLE: &str = "it is not a table";
const NO_COMMAND: &str = "it has neither a command nor a URL";
const NO_STRINGS: &str = "its arguments are not a list of strings";
const HEADERS: &str = "its headers cannot be passed on: use portion wrap --url with --header";

/// Returns the servers of a file.
pub(super) fn servers(text: &str, format: Format) -> Result<Vec<Entry>, ParseError> {
    let mark = mark_length(text);
    let body = text.get(mark..).unwrap_or_default();
    let document = Document::parse(body).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        error_at(text, at + mark, error.message().replace('\n', ", "))
    })?;
    let source = Source { text, mark };
    let mut entries = Vec::new();
    for root in format.roots {
        let Some((name, path)) = root.split_last() else { continue };
        let parent = path.iter().try_fold(document.as_item(), |item, step| item.as_table_like()?.get(step));
        let Some(parent) = parent.and_then(Item::as_table_like) else { continue };
        let Some(item) = parent.get(name) else { continue };
        if let Some(table) = item.as_table_like() {
            entries.extend(table.iter().map(|(name, item)| source.entry(table, name, item)));
        } else {
            let launch = Launch::Unsupported(NO_SERVERS);
            entries.push(Entry { launch, ..source.entry(parent, name, item) });
        }
    }
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

/// The text, and the length of its byte order mark.
struct Source<'a> {
    text: &'a str,
    mark: usize,
}

/// Returns the names and texts in a table.
fn texts_of(table: Option<&Item>) -> Vec<(String, String)> {
    let members = table.and_then(Item::as_table_like).into_iter().flat_map(TableLike::iter);
    members.filter_map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned()))).collect()
}

impl Source<'_> {
    fn entry(&self, table: &dyn TableLike, name: &str, item: &Item) -> Entry {
        let at = table.key(name).and_then(Key::span).map_or(0, |span| span.start + self.mark);
        let launch = match item.as_table_like() {
            Some(server) => self.launch(server, item.is_inline_table()),
            None => Launch::Unsupported(NO_TABLE),
        };
        let server = item.as_table_like();
        Entry {
            scope: None,
            name: name.to_owned(),
            line: line_of(self.text, at),
            env: texts_of(server.and_then(|server| server.get("env"))),
            headers: texts_of(server.and_then(|server| server.get("http_headers"))),
            env_file: None,
            cwd: server.and_then(|server| server.get("cwd")).and_then(Item::as_str).map(str::to_owned),
            is_enabled: server.and_then(|server| server.get("enabled")).and_then(Item::as_bool)
                != Some(false),
            kind: None,
            launch,
        }
    }

    fn launch(&self, server: &dyn TableLike, inline: bool) -> Launch {
        let Some(command) = server.get("command") else { return self.remote(server, inline) };
        let (Some(program), Some(member)) =
            (command.as_value().and_then(|value| self.literal(value)), self.member(server, "command"))
        else {
            return Launch::Unsupported("its command is not a string");
        };
        if program.value.trim().is_empty() {
            return Launch::Unsupported("its command is empty");
        }
        let args = match server.get("args") {
            None if inline => Args::Missing { at: program.range.end, prefix: ", args = ".into() },
            None => {
                let key = self.key_path(&member);
                let at = self.line_end(program.range.end);
                Args::Missing { at, prefix: format!("{}{key}args = ", self.newline(at)) }
            }
            Some(item) => {
                let list = item.as_value().and_then(Value::as_array).and_then(|array| self.list(array));
                let (Some(list), Some(member), Some(removal)) =
                    (list, self.member(server, "args"), self.removal(server, "args", inline))
                else {
                    return Launch::Unsupported(NO_STRINGS);
                };
                Args::Member { list, member, removal }
            }
        };
        let token_variable = self.member(server, "env_vars").and_then(|member| {
            let names = server.get("env_vars")?.as_array()?;
            let [name] = names.iter().collect::<Vec<_>>()[..] else { return None };
            Some((member, name.as_str()?.to_owned()))
        });
        let env_removal = self.removal(server, "env", inline);
        Launch::Command(CommandLine { program, member, args, token_variable, env_removal })
    }

    fn remote(&self, server: &dyn TableLike, inline: bool) -> Launch {
        let url = server.get("url").and_then(Item::as_str);
        let (Some(url), Some(member)) = (url, self.member(server, "url")) else {
            return Launch::Unsupported(NO_COMMAND);
        };
        let headers = server.get("http_headers");
        let inline_headers = headers.and_then(Item::as_inline_table).and_then(|table| {
            let texts = table.iter().map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned())));
            texts.collect::<Option<Vec<_>>>()
        });
        if ["env_http_headers", "env_vars"].iter().any(|name| server.contains_key(name))
            || headers.is_some() != inline_headers.is_some()
        {
            return Launch::Unsupported(HEADERS);
        }
        let token_variable = self
            .member(server, "bearer_token_env_var")
            .and_then(|member| Some((member, server.get("bearer_token_env_var")?.as_str()?.to_owned())));
        let own_line = || format!("{}{}", self.newline(member.end), self.key_path(&member));
        Launch::Remote(Remote {
            url: url.to_owned(),
            url_key: "url".into(),
            member_separator: if inline { ", ".into() } else { own_line() },
            member,
            colon: " = ".into(),
            headers: inline_headers.unwrap_or_default(),
            headers_member: self.member(server, "http_headers"),
            token_variable,
        })
    }

    fn literal(&self, value: &Value) -> Option<Literal> {
        Some(Literal { range: self.range(value.span()?), value: value.as_str()?.to_owned() })
    }

    fn list(&self, array: &Array) -> Option<List> {
        let items = array.iter().map(|item| self.literal(item)).collect::<Option<_>>()?;
        Some(List { open: self.range(array.span()?).start + 1, items })
    }

    fn range(&self, span: Range<usize>) -> Range<usize> {
        span.start + self.mark..span.end + self.mark
    }

    /// Returns the range of a member: the last part of its name, and its value.
    fn member(&self, table: &dyn TableLike, name: &str) -> Option<Range<usize>> {
        let (key, value) = (table.key(name)?.span()?, table.get(name)?.span()?);
        Some(self.range(key.start..value.end))
    }

    /// Returns what stands before the name of a member on its line: indentation and the parts of a dotted name.
    fn key_path(&self, member: &Range<usize>) -> &str {
        let before = self.text.get(..member.start).unwrap_or_default();
        &before[before.rfind('\n').map_or(self.mark, |newline| newline + 1)..]
    }

    /// Returns the end of the line of a position, without its line end.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        at + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// Returns the line end that the file uses near a position.
    fn newline(&self, at: usize) -> &'static str {
        let rest = self.text.get(at..).unwrap_or_default();
        let next = rest.find('\n').map(|newline| rest[..newline].ends_with('\r'));
        let is_crlf = next.unwrap_or_else(|| self.text.contains("\r\n"));
        if is_crlf { "\r\n" } else { "\n" }
    }

    /// Returns the range of a member with its comma in an inline table, else with the line end before it.
    fn removal(&self, table: &dyn TableLike, name: &str, inline: bool) -> Option<Range<usize>> {
        let own = self.member(table, name)?;
        if !inline {
            let start = own.start - self.key_path(&own).len();
            let before = self.text.get(..start)?;
            let before =
                before.strip_suffix('\n').map_or(before, |line| line.strip_suffix('\r').unwrap_or(line));
            return Some(before.len()..own.end);
        }
        let others = || table.iter().filter_map(|(other, _)| self.member(table, other));
        if let Some(before) = others().filter(|other| other.end <= own.start).map(|other| other.end).max() {
            return Some(before..own.end);
        }
        let next = others().filter(|other| other.start >= own.end).map(|other| other.start).min();
        Some(own.start..next.unwrap_or(own.end))
    }
}
