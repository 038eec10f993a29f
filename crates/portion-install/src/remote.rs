//! Entries with a URL: `install --http` makes Portion connect to it, `uninstall` restores the URL.

use crate::document::{Args, CommandLine, Entry, Remote, Splice, list_text, quote};
use crate::edit::{EntryEdit, Outcome};
use crate::format::{Format, References, Syntax};
use crate::invocation::{Target, wrap_url_args};

const NO_HTTP: &str = "its URL is neither http:// nor https://";
const HAS_ENV: &str = "it has both headers and variables: move the headers into its variables first";
/// Beginning of the names of variables with the values of headers.
const VARIABLE_PREFIX: &str = "MCP_HEADER_";

/// Returns why Portion cannot connect to a URL; `None` if it can. A reference to a variable may stand for any URL.
pub(crate) fn refusal(entry: &Entry, remote: &Remote, references: References) -> Option<&'static str> {
    let url = references.to_braces(&remote.url).trim_start().to_ascii_lowercase();
    let is_http = ["http://", "https://", "${"].iter().any(|start| url.starts_with(start));
    if !is_http {
        return Some(NO_HTTP);
    }
    (!remote.headers.is_empty() && !entry.env.is_empty()).then_some(HAS_ENV)
}

/// Returns the edits that put Portion in front of a URL, and the new command line. The values of headers become variables:
/// other users of the machine may see the arguments of a process.
pub(crate) fn wrap(
    entry: &Entry,
    remote: &Remote,
    target: &Target<'_>,
    Format { syntax, .. }: Format,
) -> EntryEdit {
    let program = target.program;
    let kind = entry.kind.as_ref();
    let transport = match kind.map(|kind| kind.value.as_str()) {
        None => (remote.url_key == "httpUrl").then_some("http"),
        // `uninstall` writes the name that was there.
        Some(name @ ("sse" | "streamable-http" | "streamableHttp")) => Some(name),
        Some(_) => Some("http"),
    };
    let lines = remote.headers.iter();
    let mut headers: Vec<String> =
        lines.map(|(name, _)| format!("{name}: ${{{}}}", variable_name(name))).collect();
    let mut splices = Vec::new();
    if let Some((member, variable)) = &remote.token_variable {
        headers.push(format!("Authorization: Bearer ${{{variable}}}"));
        // Codex starts servers with few variables, so that this one has to be named.
        let text = format!("env_vars{}[{}]", remote.colon, quote(variable, syntax));
        splices.push(Splice::replace(member.clone(), text));
    }
    let args = wrap_url_args(&entry.name, target.options, &remote.url, transport, &headers);
    let Remote { colon, member_separator, .. } = remote;
    let member = |name: &str, value: &str| match syntax {
        Syntax::Json => format!("{}{colon}{value}", quote(name, syntax)),
        Syntax::Toml => format!("{name}{colon}{value}"),
    };
    let command = member("command", &quote(program, syntax));
    let list = member("args", &list_text(&args, syntax));
    if let Some(headers) = &remote.headers_member {
        // In the place of the headers: what is between the members stays, comments as well.
        let variable = |(name, value): &(String, String)| {
            format!("{}{colon}{}", quote(&variable_name(name), syntax), quote(value, syntax))
        };
        let variables: Vec<String> = remote.headers.iter().map(variable).collect();
        let env = member("env", &format!("{{{}}}", variables.join(", ")));
        splices.push(Splice::replace(remote.member.clone(), command));
        splices.push(Splice::replace(headers.clone(), format!("{list}{member_separator}{env}")));
    } else {
        let text = format!("{command}{member_separator}{list}");
        splices.push(Splice::replace(remote.member.clone(), text));
    }
    splices.extend(kind.map(|kind| Splice::replace(kind.range.clone(), quote("stdio", syntax))));
    let after = std::iter::once(program.to_owned()).chain(args).collect();
    EntryEdit { outcome: Outcome::Wrapped, splices, after }
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
    let is_http = entry.kind.is_none() && transport == Some("http");
    let (url_name, headers_name, colon) = match syntax {
        Syntax::Toml => ("url".to_owned(), "http_headers", " = "),
        Syntax::Json => {
            (quote(if is_http { "httpUrl" } else { format.url_key }, syntax), "\"headers\"", ": ")
        }
    };
    let token = command.token_variable.as_ref();
    let is_token = |value: &str| token.is_some_and(|(_, name)| value == format!("Bearer ${{{name}}}"));
    let lines = headers.iter().filter_map(|line| line.split_once(": ")).filter(|(_, value)| !is_token(value));
    let lines: Vec<String> = lines
        .map(|(name, value)| {
            let own = entry.env.iter().find(|(variable, _)| value == format!("${{{variable}}}"));
            let value = own.map_or_else(|| value.replace("$$", "$"), |(_, value)| value.clone());
            format!("{}{colon}{}", quote(name, syntax), quote(&value, syntax))
        })
        .collect();
    let args_edit = if lines.is_empty() {
        Splice::remove(removal.clone())
    } else {
        Splice::replace(member.clone(), format!("{headers_name}{colon}{{{}}}", lines.join(", ")))
    };
    let text = format!("{url_name}{colon}{}", quote(url, syntax));
    let mut splices = vec![args_edit, Splice::replace(command.member.clone(), text)];
    let is_ours = |(name, _): &(String, String)| name.starts_with(VARIABLE_PREFIX);
    let env = command.env_removal.as_ref().filter(|_| entry.env.iter().all(is_ours));
    splices.extend(env.map(|env| Splice::remove(env.clone())));
    if let Some(kind) = &entry.kind {
        splices.push(Splice::replace(kind.range.clone(), quote(transport.unwrap_or("http"), syntax)));
    }
    if let Some((member, variable)) = &command.token_variable {
        let text = format!("bearer_token_env_var = {}", quote(variable, syntax));
        splices.push(Splice::replace(member.clone(), text));
    }
    Some((splices, url.to_owned()))
}

/// Returns the name of the variable with the value of a header.
fn variable_name(header: &str) -> String {
    let plain = |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
    VARIABLE_PREFIX.chars().chain(header.chars().map(plain)).collect()
}
