//! The value of a setting in text, and how it is hidden.

use std::ops::Range;

use super::code::TextFacts;
use super::name::secret_kind;
use super::pattern::is_in;
use super::setting_name::quote_before;
use super::text_value::{ValueExtent, container_after, line_end, typed_value_start, value_after};
use super::text_value_rest::extended_end;
use super::value::Form;
use super::{Findings, NameMatch, REDACTED};

/// Maximum bytes of the line after a value that are read, and maximum items of a container.
const MAX_AFTER_BYTES: usize = 160;
const MAX_ITEMS: usize = 256;
/// Members of an object that describes a field.
const DESCRIBING_KEYS: &str = "version type path git workspace registry optional required description enum from secretKeyRef \
    valueFrom minLength maxLength format schema secure httpOnly sameSite maxAge";

/// The name of a setting, and its match.
#[derive(Clone, Copy)]
pub(super) struct Setting<'n> {
    pub name: &'n str,
    pub verdict: NameMatch,
    /// Facts about the text around it.
    pub facts: &'n TextFacts<'n>,
}

/// The value of a setting.
pub(super) struct SettingValue {
    /// The value without quotes.
    pub value: Range<usize>,
    pub is_container: bool,
}

impl SettingValue {
    /// Finds the value after the separator at `at`.
    pub(super) fn find(text: &str, at: usize, extent: ValueExtent, may_be_container: bool) -> Option<Self> {
        let typed = typed_value_start(text, at);
        let (at, from) = typed.map_or((at, at + 1), |from| (from - 1, from));
        let container = container_after(text, from);
        if !may_be_container && container.is_some() {
            return None;
        }
        let (start, end) = container.or_else(|| {
            let (start, end) = value_after(text, from, extent)?;
            Some((start, extended_end(text, at, (start, end), extent)))
        })?;
        Some(Self { value: start..end, is_container: container.is_some() })
    }

    /// Returns the bytes to replace. Tags and anchors before the value are replaced with it, and so are its quotes then. `raw`: the text
    /// as written.
    pub(super) fn with_properties(&self, raw: &str, text: &str, at: usize) -> Range<usize> {
        let Range { start, end } = self.value.clone();
        let is_directly_before = |first: &usize| {
            text.get(*first..start).is_some_and(|lead| lead.trim_matches([' ', '"', '\'']).is_empty())
        };
        let Some(first) = properties_start(raw, text, at).filter(is_directly_before) else {
            return start..end;
        };
        let quote = text[..start].chars().next_back().filter(|quote| matches!(quote, '"' | '\''));
        first..end + usize::from(quote.is_some_and(|quote| text[end..].starts_with(quote)))
    }

    /// Hides the value in the bytes to replace if it is a secret. `at`: the separator. A container gets the quotes of its name.
    pub(super) fn hide(
        &self,
        (text, at): (&str, usize),
        setting: Setting<'_>,
        replaced: Range<usize>,
        found: &mut Findings,
    ) {
        let Setting { name, verdict, facts } = setting;
        let value = &text[self.value.clone()];
        let quote = if self.is_container { quote_before(text, at) } else { "" };
        if self.is_container && holds_secrets(setting, value)
            || !self.is_container
                && verdict.hides(name, value, form(facts, text, self.value.start, self.value.end))
        {
            found.replace(name, replaced, format!("{quote}{REDACTED}{quote}"));
        }
    }
}

/// Returns the offset of the tag or the anchor after the separator at `at`, which the view leaves out.
pub(super) fn properties_start(raw: &str, text: &str, at: usize) -> Option<usize> {
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t');
    let mut bytes = raw.as_bytes()[at + 1..].iter().zip(&text.as_bytes()[at + 1..]);
    let first = at + 1 + bytes.position(|(written, seen)| !(is_blank(*written) && is_blank(*seen)))?;
    let is_written = matches!(raw.as_bytes()[first], b'!' | b'&') && text[first..].starts_with(' ');
    (is_written && !raw[first..].starts_with("&nbsp;")).then_some(first)
}

/// Returns how a value in a text is written.
pub(super) fn form<'t>(facts: &TextFacts<'_>, text: &'t str, start: usize, end: usize) -> Form<'t> {
    let before = &text[..start];
    if let Some(literal) = before.strip_suffix(['"', '\'', '`']) {
        let is_argument = literal.ends_with('(');
        return if facts.is_source_code() { Form::Literal { is_argument } } else { Form::Data };
    }
    let separator = before.trim_end_matches([' ', '\t', ':', '=', '>']).len();
    let line_end = line_end(text, end).min(text.floor_char_boundary(end + MAX_AFTER_BYTES));
    let line = text[separator..line_end].trim_end_matches('\r');
    // A call without arguments or of strings, and a variable with the name of a secret, are expressions there, too.
    let is_named = secret_kind(text[start..end].rsplit('.').next().unwrap_or_default()).is_some();
    let is_value = !line.contains(['"', '\'']) && !line.ends_with("()") && !is_named;
    Form::Bare { line: if is_value && facts.is_settings() { "" } else { line } }
}

/// Returns true if an array or object without JSON around it holds a secret. What describes a member holds none:
/// `{ version = "0.18" }`, `{ type: String }`.
fn holds_secrets(setting: Setting<'_>, container: &str) -> bool {
    let Setting { name, verdict, facts } = setting;
    let inside = &container[1..];
    if verdict.is_named {
        return !inside.trim_matches([' ', ']', '}']).is_empty();
    }
    let is_object = container.starts_with('{');
    let items = inside.split([',', '\n', ';', '[', '{']).filter_map(|item| {
        let item = item.trim_end_matches([' ', ']', '}', '\r']).trim();
        let (key, value) = if is_object { item.split_once([':', '='])? } else { ("", item) };
        Some((key.trim().trim_matches(['"', '\'']), value.trim_start_matches(['>', '=']).trim()))
    });
    let (mut is_described, mut is_secret) = (false, false);
    for (key, value) in items.take(MAX_ITEMS) {
        let line = format!("= {value}");
        let form = match value.starts_with(['"', '\'']) {
            _ if facts.is_source_code() => Form::Literal { is_argument: true },
            true => Form::Data,
            false => Form::Bare { line: &line },
        };
        is_described |= is_in(DESCRIBING_KEYS, key);
        is_secret |= verdict.hides(name, value.trim_matches(['"', '\'']), form);
    }
    is_secret && !is_described
}
