//! Recognizes pairs of a name and a value: `{"name": "password", "value": "…"}`, the rows of `name,value,note`.
//!
//! The name of the secret stands in a value there, and the member that holds the secret has a general name.

use super::name::is_phrase_name;
use super::pattern::is_in;
use super::value::is_name;
use super::{NameMatch, RedactionRules};

/// Maximum bytes of a key.
const MAX_KEY_BYTES: usize = 24;
/// Maximum bytes of a name in a pair, and maximum words.
const MAX_NAME_BYTES: usize = 64;
const MAX_NAME_WORDS: usize = 8;
/// Minimum words of prose.
const MIN_PROSE_WORDS: usize = 8;
/// Keys of names, in lower case, letters only.
const NAME_KEYS: &str = "question fieldid attr attribute attributename envname envvar environmentvariable field fieldname header headername key keyname name \
    option optionname param parameter parameterkey parametername paramname property propertyname setting settingname \
    variable variablename";
/// Keys of names for people.
const LABEL_KEYS: &str = "caption displayname label title";
/// Keys of names that mostly name other things.
const KIND_KEYS: &str = "id identifier item type";
/// Keys of values; `stringvalue` and the like are those of typed values.
const VALUE_KEYS: &str = "arrayvalue attributevalue bytesvalue currentvalue defaultvalue doublevalue envvalue fieldvalue headervalue intvalue \
    optionvalue parametervalue plaintext propertyvalue rawvalue s settingvalue stringvalue val value values variablevalue";
/// Keys of values that may be documents.
const CONTENT_KEYS: &str = "answer content contents";
/// First words of a label that names an action or a question.
const ACTION_WORDS: &str = "add change choose copy create delete disable edit enable forgot forgotten generate get how lost manage no remove reset \
    revoke rotate set show update use view what where why without";
/// Words that name a secret together with the word before them.
const SECOND_WORDS: &str = "code codes key keys number string";
/// Further names that make one with the name around them.
const INNER_NAMES: &str = "access refresh";

/// Role of a member, a column or a setting in a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PairRole {
    Name,
    /// A name for people. In a list of options it describes a choice.
    Label,
    /// A name that mostly names other things. Beside a document it does.
    Kind,
    Value,
    /// A value that may be a document, which is no secret.
    Content,
    /// The place or the state of a value below a name: `{"password":{"0":…}}`, `{"password":{"old":…}}`.
    State,
}

impl PairRole {
    /// Returns the role that a key or a heading has in a pair.
    pub(super) fn of(key: &str) -> Option<Self> {
        let is_letter = |c: &char| !c.is_ascii_punctuation() && *c != ' ';
        let letters = if key.len() <= 2 * MAX_KEY_BYTES { key } else { "" };
        let letters: String = letters.to_ascii_lowercase().chars().filter(is_letter).collect();
        [
            (NAME_KEYS, Self::Name),
            (LABEL_KEYS, Self::Label),
            (KIND_KEYS, Self::Kind),
            (VALUE_KEYS, Self::Value),
            (CONTENT_KEYS, Self::Content),
        ]
        .into_iter()
        .find_map(|(keys, role)| is_in(keys, &letters).then_some(role))
    }

    pub(super) fn is_name(self) -> bool {
        matches!(self, Self::Name | Self::Label | Self::Kind)
    }

    pub(super) fn is_value(self) -> bool {
        !self.is_name()
    }
}

/// The columns of a table that contain names and values, among others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PairColumns {
    /// Index of the column of names.
    pub name: usize,
    pub name_role: PairRole,
    /// Indices of the columns of values, with their roles.
    pub values: Vec<(usize, PairRole)>,
    /// True if headings say so.
    pub has_heading: bool,
}

impl PairColumns {
    /// Detects a column of names and one of values by their headings.
    pub(super) fn detect<'h>(headings: impl Iterator<Item = &'h str>) -> Option<Self> {
        let roles = headings.enumerate().filter_map(|(index, heading)| Some((index, PairRole::of(heading)?)));
        let (names, values): (Vec<_>, Vec<_>) = roles.partition(|(_, role)| role.is_name());
        let is_preferred = |role: PairRole| names.iter().find(|(_, found)| *found == role).copied();
        let (name, name_role) =
            [PairRole::Name, PairRole::Label, PairRole::Kind].into_iter().find_map(is_preferred)?;
        (!values.is_empty()).then_some(Self { name, name_role, values, has_heading: true })
    }

    /// Returns the columns of a table of two, whose headings are free.
    pub(super) fn of_two(has_heading: bool) -> Self {
        Self { name: 0, name_role: PairRole::Name, values: vec![(1, PairRole::Value)], has_heading }
    }
}

impl RedactionRules {
    /// Matches the name in a pair: `DB_PASSWORD`, `Door code`, `spring.datasource.password`, `/prod/db/password`.
    pub(super) fn match_pair_name(&self, name: &str) -> NameMatch {
        let name = name.trim().trim_matches(['*', '`', '?', ':']);
        if name.len() > MAX_NAME_BYTES || name.split_whitespace().count() > MAX_NAME_WORDS {
            return NameMatch::default();
        }
        let last = name.rsplit(['.', '/', ':']).next().unwrap_or_default();
        let mut verdict = self.match_name(&last.replace(' ', "_"));
        verdict.is_secret |= last_two_names(name).is_some_and(|names| self.match_name(names).is_secret);
        verdict.is_secret &= !is_action(name);
        verdict.is_named |= self.matches_written_path(name);
        verdict
    }
}

/// Returns true for a label that names an action or a question: `Reset password`.
pub(super) fn is_action(name: &str) -> bool {
    let first = name.split_whitespace().next().unwrap_or_default().to_lowercase();
    name.split_whitespace().nth(1).is_some() && is_in(ACTION_WORDS, &first)
}

/// Returns true if a value can be the secret of a pair with this name, given the roles of both.
pub(super) fn may_be_pair_secret(
    (name_role, name): (PairRole, &str),
    (role, value): (PairRole, &str),
) -> bool {
    let is_document = role == PairRole::Content
        && (name_role == PairRole::Kind
            || !is_phrase_name(name) && value.split_whitespace().nth(MIN_PROSE_WORDS - 1).is_some());
    !is_document && !is_name(name, value)
}

/// Returns the last two names of a path if the last one alone says too little: `secret.key`.
pub(super) fn last_two_names(path: &str) -> Option<&str> {
    let (before, last) = path.rsplit_once('.')?;
    let start =
        before.rfind(|c: char| !c.is_alphanumeric()).map_or(0, |end| before.ceil_char_boundary(end + 1));
    is_in(SECOND_WORDS, last).then_some(&path[start..])
}

/// Returns true for a name that says too little without the name around it.
pub(super) fn is_second_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    is_in(SECOND_WORDS, &name) || is_in(INNER_NAMES, &name)
}
