//! Entries with a URL: `install --http` makes Portion connect to it, `uninstall` restores the URL.

use crate::document::{Args, CommandLine, Entry, Remote};
use crate::format::{Format, References, Syntax};
use crate::invocation::wrap_url_args;
use crate::quote::{list_text, quote};
use crate::splice::Splice;

const NO_HTTP: &str = "its URL is neither http:// nor https://";

/// Returns why Portion cannot connect to a URL; `None` if it can. A reference to a variable may stand for any URL.
pub(crate) fn refusal(remote: &Remote, references: References) -> Option<&'static str> {
    let url = references.to_braces(&remote.url).trim_start().to_ascii_lowercase();
    let is_http = ["http://", "https://", "${"].iter().any(|start| url.starts_with(start));
    (!is_http).then_some(NO_HTTP)
}

/// Returns the edits that put Portion in front of a URL, and the new command line.
pub(crate) fn wrap(
    entry: &Entry,
    remote: &Remote,
    program: &str,
    profile: Option<&str>,
    Format { syntax, references, .. }: Format,
) -> (Vec<Splice>, Vec<String>) {
    let kind = entry.kind.as_ref();
    let transport = match kind.map(|kind| kind.value.as_str()) {
        None => (remote.url_key == "httpUrl").then_some("http"),
        // `uninstall` writes the name that was there.
        Some(name @ ("sse" | "streamable-http" | "streamableHttp")) => Some(name),
        Some(_) => Some("http"),
    };
    let headers = remote.headers.iter();
    let mut headers: Vec<String> =
        headers.map(|(name, value)| format!("{name}: {}", escape(&references.to_braces(value)))).collect();
    let mut splices = Vec::new();
    if let Some((member, variable)) = &remote.token_variable {
        headers.push(format!("Authorization: Bearer ${{{variable}}}"));
        // Codex starts servers with few variables, so that this one has to be named.
        let text = format!("env_vars{}[{}]", remote.colon, quote(variable, syntax));
        splices.push(Splice::replace(member.clone(), text));
    }
    let args = wrap_url_args(&entry.name, profile, &remote.url, transport, &headers);
    let Remote { colon, member_separator, .. } = remote;
    let member = |name: &str, value: &str| match syntax {
        Syntax::Json => format!("{}{colon}{value}", quote(name, syntax)),
        Syntax::Toml => format!("{name}{colon}{value}"),
    };
    let command = member("command", &quote(program, syntax));
    let list = member("args", &list_text(&args, syntax));
    if let Some(headers) = &remote.headers_member {
        // In the place of the headers: what is between the members stays, comments as well.
        splices.push(Splice::replace(remote.member.clone(), command));
        splices.push(Splice::replace(headers.clone(), list));
    } else {
        let text = format!("{command}{member_separator}{list}");
        splices.push(Splice::replace(remote.member.clone(), text));
    }
    splices.extend(kind.map(|kind| Splice::replace(kind.range.clone(), quote("stdio", syntax))));
    (splices, std::iter::once(program.to_owned()).chain(args).collect())
}

/// Returns the edits that restore the URL of an entry, and that URL.
pub(crate) fn unwrap(entry: &Entry, command: &CommandLine, format: Format) -> Option<(Vec<Splice>, String)> {
    let syntax = format.syntax;
    let Args::Member { member, removal, .. } = &command.args else { return None };
    let args: Vec<&str> = command.args.items().iter().map(|item| item.value.as_str()).collect();
    let after = |option: &str| args.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1]).collect();
    let (urls, headers, transports): (Vec<&str>, Vec<&str>, Vec<&str>) =
        (after("--url"), after("--header"), after("--transport"));
    let (url, transport) = (*urls.first()?, transports.first().copied());
    let mut args_edit = Splice::remove(removal.clone());
    let text = match syntax {
        Syntax::Toml => format!("url = {}", quote(url, syntax)),
        Syntax::Json => {
            let is_http = entry.kind.is_none() && transport == Some("http");
            let name = if is_http { "httpUrl" } else { format.url_key };
            let lines = headers.iter().filter_map(|line| line.split_once(": "));
            let lines: Vec<String> = lines
                .map(|(name, value)| {
                    format!("{}: {}", quote(name, syntax), quote(&value.replace("$$", "$"), syntax))
                })
                .collect();
            if !lines.is_empty() {
                let headers = format!("\"headers\": {{{}}}", lines.join(", "));
                args_edit = Splice::replace(member.clone(), headers);
            }
            format!("{}: {}", quote(name, syntax), quote(url, syntax))
        }
    };
    let mut splices = vec![args_edit, Splice::replace(command.member.clone(), text)];
    if let Some(kind) = &entry.kind {
        splices.push(Splice::replace(kind.range.clone(), quote(transport.unwrap_or("http"), syntax)));
    }
    if let Some((member, variable)) = &command.token_variable {
        let text = format!("bearer_token_env_var = {}", quote(variable, syntax));
        splices.push(Splice::replace(member.clone(), text));
    }
    Some((splices, url.to_owned()))
}

/// Escapes the dollar signs of a header for `--header`, except those of references.
fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for (at, char) in value.char_indices() {
        escaped.push(char);
        if char == '$' && !value[at..].starts_with("${") {
            escaped.push('$');
        }
    }
    escaped
}
