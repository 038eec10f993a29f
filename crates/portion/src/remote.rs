//! A server over HTTP as options: where it is, what it is told with each request, how it speaks.

use std::env::VarError;
use std::error::Error;

use clap::{Args, ValueEnum};
use portion_gateway::upstream::http::{Client, Target};
use portion_gateway::upstream::link::remote;
use thiserror::Error as ThisError;

/// What each request to the server carries, and how it is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct Way {
    /// A field that each request to the server gets, `Name: value`; may be repeated. ${NAME} is taken from the
    /// environment, $$ is a dollar sign
    #[arg(long = "header", value_name = "FIELD", requires = "url", conflicts_with = "command")]
    pub(crate) headers: Vec<String>,
    /// How the server speaks: auto finds out, http is streamable HTTP, sse that of 2024-11-05
    #[arg(
        long,
        value_name = "NAME",
        default_value = "auto",
        requires = "url",
        conflicts_with = "command",
        hide_possible_values = true
    )]
    pub(crate) transport: Transport,
}

/// How a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    #[default]
    Auto,
    Http,
    Sse,
}

impl Way {
    /// The server at this URL, whose messages may have so many bytes.
    ///
    /// # Errors
    /// Where URL or headers are none, or a variable is not set.
    pub(crate) fn remote(&self, url: &str, message_limit: usize) -> Result<remote::Remote, Box<dyn Error>> {
        let target = target(url, &self.headers)?;
        let client = Client::new(target.url().scheme_str() == Some("https"))?;
        let transport = match self.transport {
            Transport::Auto => remote::Transport::Auto,
            Transport::Http => remote::Transport::Http,
            Transport::Sse => remote::Transport::Sse,
        };
        Ok(remote::Remote { target, client, message_limit, transport })
    }
}

/// A server and what each request to it carries.
///
/// # Errors
/// Where URL or headers are none, or a variable is not set.
pub(crate) fn target(url: &str, headers: &[String]) -> Result<Target, Box<dyn Error>> {
    let mut target = Target::new(url)?;
    for line in headers {
        target = target.with_header(&expanded(line, |name| std::env::var(name))?)?;
    }
    Ok(target)
}

/// Why a text cannot be completed from the environment. What stands in the text is never shown, for it may be secret.
#[derive(Debug, ThisError, PartialEq, Eq)]
pub(crate) enum NotExpanded {
    #[error("a header refers to the environment variable {0}, which is not set")]
    Unset(String),
    #[error("a header refers to the environment variable {0}, which is no text")]
    NoText(String),
    #[error("a header has a $ that begins no ${{NAME}}; for the character itself, write $$")]
    Stray,
}

/// The text with each `${NAME}` replaced by what the environment has, and each `$$` by `$`.
fn expanded(text: &str, read: impl Fn(&str) -> Result<String, VarError>) -> Result<String, NotExpanded> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        rest = if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            after
        } else {
            let (name, after) =
                after.strip_prefix('{').and_then(|after| after.split_once('}')).ok_or(NotExpanded::Stray)?;
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(NotExpanded::Stray);
            }
            out.push_str(&read(name).map_err(|error| match error {
                VarError::NotPresent => NotExpanded::Unset(name.to_owned()),
                VarError::NotUnicode(_) => NotExpanded::NoText(name.to_owned()),
            })?);
            after
        };
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::env::VarError;

    use super::{NotExpanded, expanded};

    fn check(text: &str, expect: Result<&str, NotExpanded>) {
        let read = |name: &str| match name {
            "TOKEN" => Ok("s3cret".to_owned()),
            "ODD" => Ok("${TOKEN}".to_owned()),
            "BYTES" => Err(VarError::NotUnicode("x".into())),
            _ => Err(VarError::NotPresent),
        };
        assert_eq!(expanded(text, read), expect.map(str::to_owned), "{text}");
    }

    #[test]
    fn variables_are_replaced() {
        check("Authorization: Bearer ${TOKEN}", Ok("Authorization: Bearer s3cret"));
        check("${TOKEN}${TOKEN}", Ok("s3crets3cret"));
        check("a: $$5, $${TOKEN}", Ok("a: $5, ${TOKEN}"));
        check("a: ${ODD}", Ok("a: ${TOKEN}"));
        check("plain", Ok("plain"));
    }

    #[test]
    fn what_cannot_be_replaced_is_named() {
        check("a: ${NONE}", Err(NotExpanded::Unset("NONE".into())));
        check("a: ${BYTES}", Err(NotExpanded::NoText("BYTES".into())));
        for stray in ["a: $TOKEN", "a: $", "a: ${TOKEN", "a: ${}", "a: ${A B}"] {
            check(stray, Err(NotExpanded::Stray));
        }
    }
}
