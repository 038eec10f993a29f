//! The rule that decides whether the value under the name of a secret is one.
//!
//! A secret is a value somebody can use to get in. A value that only speaks of one is none: a word that says that there is no
//! value, a mask, a reference to a place, a type, a version, source code, a message, a label, and the name of a secret itself.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portion_json::scan::unescape;
use regex::{Regex, RegexSet};

use super::code::is_identifier;
use super::name::{SecretKind, is_plain_secret_name, normalized_words, secret_kind};
use super::pattern::{any_word, is_in, regex, regex_set};

/// Maximum bytes of a value whose words are read. A longer one is a secret.
const MAX_READ_BYTES: usize = 512;
/// Words that say that there is no value, what it has to be, or what became of it.
const STATUS_WORDS: &str = "null none nil undefined true false n/a required optional missing invalid unset \
    hidden masked redacted filtered encrypted removed enabled disabled expired revoked blank absent unknown inherit include omit \
    same-origin read write todo value match pending basic bearer latest changed unchanged rejected accepted updated rotated refreshed \
    approved declined authorized denied granted captured voided yes";
/// Short words that say so where a value has no quotes.
const SHORT_STATUS_WORDS: &str = "yes no on off na nan any";
/// Names of types.
const TYPES: &str = "string str text number int integer float boolean bool bytes byte object array list dict uuid varchar char \
    bytea blob date datetime optional option secretstr securestring secretstring cstring osstring";
/// Architectures and tags after the name of a package: `passwd:amd64`, `jwt:latest`.
const PACKAGE_TAGS: &str = "all any native noarch amd64 arm64 armhf armel i386 i686 x86 x64 x86_64 aarch64 ppc64el s390x riscv64 \
    mips64el latest stable edge alpine slim next";
/// Words of sentences that no secret of several words has.
const SENTENCE_WORDS: &str = "about already and any are as at be been before but by can cannot cannot characters could did digits do does doesn't don't \
    enter few for forgot from had has have here how if in incorrect insert invalid is isn't least letters may missing must need needs no not \
    of on only or our please provide required see shall should than that the their them then there these they this those to too \
    type unless until upon use used using want was were what when where which while who why will with without would wrong you your";
/// Further first words of sentences.
const FIRST_WORDS: &str = "a an he it she we i";
/// Objects of programs whose members hold values.
const PROGRAM_OBJECTS: &str = "self this cls super req request res response ctx context config cfg conf settings process os env args \
    argv opts options params props state app user data event body session client input var local module secrets vars steps needs \
    github values form";
/// First words of expressions.
const CODE_WORDS: &str =
    "await new not return if else lambda func function fn yield typeof async throw raise in void";
/// Names of facts about a word of a text.
const LINGUISTIC_NAMES: &str = "pos tag lemma dep ner upos xpos feats deprel logprob log_prob prob probability start end start_char \
    end_char offset index idx position sentence freq frequency count score rank entity lang stem is_stop bytes bio iob";

/// Values that speak of a secret, in any form.
static HARMLESS: LazyLock<RegexSet> = LazyLock::new(|| {
    let inside = r"[\w \-.:'/*•]";
    let cut = r"(?:\*{3}|•{3}|…|\.{3})";
    let version = r"(?:\d{1,6}|[x*])";
    regex_set(&[
        format!("^{}$", any_word(STATUS_WORDS)),
        // A date, perhaps with a time, and a colour.
        r"^\d{4}-\d\d-\d\d[\dT:.+\- Z]*$|^#(?:[[:xdigit:]]{3}){1,2}$".to_owned(),
        // A secret that is masked or cut, and the place of one: `****`, `<password>`, `sk-…`, `your_token`.
        format!(
            r"(?s)^(?:(?i-u:bearer|basic|token) )?(?:[*•●xX.·#\-_?]{{3,}}|<{inside}+>|\[{inside}+\]|\({inside}*\pL{inside}*\)|{cut}.*|.*{cut}|(?i-u:your)[-_ ].*)$"
        ),
        // What stands elsewhere: a template, the name of a resource. `${PASSWORD:-hunter2}` says what the value is.
        r"(?s)^(?:\S+\s+)?(?:\$\{(?:[^:]|:[^\-]|:-[}$])*:?-?$|\$[(\[]|\{\{|<%|#\{|%\{|\{%|@\{|\[\[|#/|!(?:Ref|Sub|GetAtt|ImportValue)|arn:|vault:|op://|ssm:|kms:|secretref:|keyvault:|env:|file:|workspace:|npm:|github:|git\+|link:|catalog:|projects/|@Microsoft\.KeyVault)".to_owned(),
        // A block, a variable, a mark of a format.
        r"(?s)^(?:\\[nrt])*\{(?:$|.*[}:])|^\S+\s+\{(?:$|\S*[}:]\S*$)".to_owned(),
        r"^(?:\S+\s+)?\$(?:\d+|[A-Z_][A-Z\d_]*|[A-Za-z_.:>\-]{2,})[;,)]*$|^%(?:[\pL_]\w*%|[sdvqr]|\(.*\).*)$".to_owned(),
        // A URL without a user, a query, and a step that is no word.
        r"^https?://[^@?=\s/#]*(?:/(?:[^@?=\s/#]{0,8}|[^@?=\s/#\d]{9,24}))*(?:#[^@?=\s]*)?$".to_owned(),
        // A type: `Option<String>`, `varchar(255)`, `string | null`.
        format!(r"^[&*?]*{}\s*(?:[(<\[|=].*|null|optional|required)?[,;?!]*$", any_word(TYPES)),
        // A command with a file: `node scripts/token.js`.
        r"^[a-z][\w-]* (?:\S+ )*[\w.-]+(?:/[\w.-]+)*\.[a-z]{1,4}(?: |$)".to_owned(),
        // A version, or a range of versions: `0.5.0`, `^1.2`, `>=1.0,<2`, `9.0.2-alpine`.
        format!(
            r"^(?:(?:[\^~=<>!v ]*{version}(?:\.{version})+|[\^~=<>!v ]+(?:\d{{1,3}}|[x*]))(?:[-+][\w.\-+*]*)?[,| ]*)+$"
        ),
    ])
});

/// Values without quotes in a text that may be source code, with the separator before them and the rest of their line.
static EXPRESSIONS: LazyLock<RegexSet> = LazyLock::new(|| {
    let lead = format!("^{LEAD}");
    let end = r#"(?:$|[\s;,)}|&?+\]<>"'])"#;
    regex_set(&[
        // A call, an index, a generic type.
        format!(r"{lead}[\pL_](?:\w|[.:]+[\pL_])+[.:]*[(\[]"),
        format!(r"{lead}[A-Z][\pL_]*(?:[.:]+[\pL_]+)*<(?:[^/b]|b[^r])"),
        // A path, and a member of an object.
        format!(r"{lead}[\pL_]+(?:[.:]+[\pL_]+)+[.:]*{end}"),
        format!(r"{lead}{}(?:[.:]+[\pL_]\w*)+[.:]*{end}", any_word(PROGRAM_OBJECTS)),
        format!(r"{lead}(?:{}) ", CODE_WORDS.replace(' ', "|")),
        // What is assigned: `x := list`, `x = name;`, and the type in a declaration.
        format!(r"^\s*:=\s*{PREFIX}[\pL_]+(?:$|[\s,;)])|^(?: +[:=]*=\s*|[:=]*= +){PREFIX}[\pL_]+;"),
        format!(r"^:[:=>]*\s*{PREFIX}[A-Z][\pL_]*[a-z][\pL_]*(?:[ \t]*[,);]|[ \t]+[={{|?])"),
        r"^(?:\s+[:=>]+\s*|[:=>]+\s+|[=>]+|[:=>]{2,})[({]".to_owned(),
        // The name of a resource, a rule of a grammar, the tag of a package.
        format!(r"^\s*[:=>]+\s*[a-z_\-]{{2,}}(?:/[a-z_\-]{{2,}})+{end}"),
        format!(r"^ +=\s*\d*\*[A-Za-z\-]{{3,}}{end}"),
        format!(r"^:{}(?:-|\(|{end})", any_word(PACKAGE_TAGS)),
    ])
});
/// A separator, and the signs before an expression.
const LEAD: &str = r"\s*[:=>]*\s*[&*!(\-]*(?:mut )?[$@]?";
const PREFIX: &str = r"[&*!(\-]*(?:mut )?[$@]?";
/// A name alone after a separator.
static NAME: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"^{LEAD}([\pL_]+)(?:$|[\s,;)])")));
/// The beginnings of sentences after a colon or a separator: `the …`, and words of any kind.
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| {
    let words = any_word(&format!("{SENTENCE_WORDS} {FIRST_WORDS}"));
    regex(&format!(r"^\s*[:=>]*\s*{words}[ ,]+\pL|^: \pL+[ ,]+\pL\S*(?:\s+\S+){{3}}"))
});

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form<'t> {
    /// As data: in quotes, in a cell, in an element.
    Data,
    /// As a string in source code, perhaps as the argument of a call.
    Literal { is_argument: bool },
    /// Without quotes in a text, which may be source code: its line from the separator before it on.
    Bare { line: &'t str },
}

/// Returns true if a value under the name of a secret of this kind is a secret.
pub(super) fn is_secret_value(kind: SecretKind, name: &str, value: &str, form: Form<'_>) -> bool {
    let value = value.trim();
    if !value.contains(char::is_alphanumeric) || value.len() < 3 && value.parse::<u8>().is_ok() {
        return false;
    }
    if value.len() > MAX_READ_BYTES {
        return true;
    }
    if HARMLESS.is_match(value)
        || is_symbol(kind, name, value)
        || is_path(value)
        || is_constant(value)
        || is_label_of(name, value)
    {
        return false;
    }
    let is_shown = match form {
        Form::Data => false,
        Form::Literal { is_argument } => {
            !(is_random(value) || !is_argument && may_be_literal(name, value)) || is_one_letter(value)
        }
        Form::Bare { line } => {
            is_one_letter(value)
                || is_in(SHORT_STATUS_WORDS, &value.to_lowercase())
                || is_part_of_sentence(kind, value, line)
                || EXPRESSIONS.is_match(line)
                || NAME.captures(line).is_some_and(|found| is_name_of_variable(name, &found[1]))
                || line.strip_prefix(':').is_some_and(|rest| rest.starts_with(value))
                    && secret_kind(value).is_some()
                    && is_plain_secret_name(value)
        }
    };
    !is_shown
        && match kind {
            SecretKind::Instructions => true,
            SecretKind::Word => !is_word(value),
            SecretKind::Basic => {
                STANDARD.decode(value).is_ok_and(|login| login.contains(&b':') && login.is_ascii())
            }
            SecretKind::Token | SecretKind::Password => !is_message(value),
        }
}

/// Returns true for one letter again and again: `xxxx`.
fn is_one_letter(value: &str) -> bool {
    value.len() > 2 && value.chars().all(|c| c.is_alphabetic() && value.starts_with(c))
}

/// Returns true for a variable with the name of a secret.
fn is_name_of_variable(name: &str, variable: &str) -> bool {
    variable == name || normalized_words(variable).len() > 1 && secret_kind(variable).is_some()
}

/// Returns true for a constant with the name of a secret: `API_TOKEN`.
fn is_constant(value: &str) -> bool {
    value.contains('_')
        && value.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && secret_kind(value).is_some()
}

/// Returns true for a word that a machine made, or a person who was told to: letters and digits in turn.
pub(super) fn is_random(value: &str) -> bool {
    let is_token = |c: char| c.is_alphanumeric() || "_-.~+/=!#%^&@$".contains(c);
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_alphabetic());
    let turns = value.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    // `DOT11_AUTH_80211_PSK`, `x25519_private_key`, `ed25519.Ed25519PrivateKey`
    let is_name = is_identifier(value)
        && value.contains('_')
        && !(value.contains(char::is_uppercase) && value.contains(char::is_lowercase))
        || value.contains('.') && value.split('.').all(is_identifier);
    value.len() >= 8
        && digits >= 2
        && turns >= 3
        && value.chars().all(is_token)
        && !is_name
        && !value.starts_with("0x")
}

/// Returns true for a string in source code that may be a secret: one word with digits, or of letters alone.
fn may_be_literal(name: &str, value: &str) -> bool {
    let is_word = !value.contains(|c: char| c.is_whitespace() || "()[]{}\\|<>".contains(c));
    let is_password = || {
        ["password", "passwd", "pwd", "passphrase"].iter().any(|end| name.to_lowercase().ends_with(end))
            && value.chars().all(|c| c.is_alphabetic() || c == ' ')
    };
    is_word && value.contains(|c: char| c.is_ascii_digit()) || is_password()
}

/// Names of parts: `color/primary/500`, `spacing-12`.
static PARTS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[a-z]+(?:[/-][a-z]+)*(?:/[a-z]+|[/-]\d{1,3})$|^0x[[:xdigit:]]{40}$"));
/// A number of a parcel of land.
static PARCEL: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d+(?:-\d+){2,}$"));

/// Returns true for a code that names something: the symbol or the contract of a coin, a part of a design, a cookie by its name, a pin
/// of a chip, a parcel of land, a postal code of India.
fn is_symbol(kind: SecretKind, name: &str, value: &str) -> bool {
    let digits = value.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = value.len() - digits.len();
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_cookie_name =
        || !value.contains(|c: char| c.is_ascii_digit() || "=;.+/".contains(c)) && value.len() <= 24;
    kind == SecretKind::Token && (digits.is_empty() && letters <= 5 || PARTS.is_match(value))
        || ["cookie", "cookies"].iter().any(|own| name.eq_ignore_ascii_case(own)) && is_cookie_name()
        || name.eq_ignore_ascii_case("pin") && PARCEL.is_match(value)
        || name.eq_ignore_ascii_case("pin") && is_number && letters == 1 && digits.len() < 3
        || name.eq_ignore_ascii_case("pincode") && is_number && value.len() == 6
}

/// Returns true if a string, as written in JSON, is a secret.
pub(super) fn is_secret_json(kind: SecretKind, name: &str, quoted: &str) -> bool {
    // Values of one or two letters are data even if they look like a mark for none.
    let is_short = (3..5).contains(&quoted.len()) && !matches!(kind, SecretKind::Word | SecretKind::Basic);
    let is_short = is_short && !is_symbol(kind, name, &quoted[1..quoted.len() - 1]);
    is_short || quoted.len() > 2 && is_secret_value(kind, name, &unescape(quoted), Form::Data)
}

/// Returns true for the name of a fact about a word of a text.
pub(super) fn is_linguistic_name(name: &str) -> bool {
    name.len() <= 12 && is_in(LINGUISTIC_NAMES, &name.to_lowercase())
}

/// Returns true if a value can be a word or a sign of a text.
pub(super) fn is_word(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.contains(is);
    value.len() <= 24 && !(has(|c| c.is_ascii_digit()) && has(char::is_alphabetic))
}

/// Returns true for the path of a file or of a page. Base64 has capitals and digits in one step, and other signs.
fn is_path(value: &str) -> bool {
    static PATH: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(?:\.{1,2}/|~?/[\w.\-{}:$*@~]*[/.])[\w.\-{}:$*@~/]*$"));
    let is_step = |step: &str| {
        let has = |is: fn(&u8) -> bool| step.as_bytes().iter().any(is);
        !(has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit))
    };
    value.len() > 4 && PATH.is_match(value) && value.split('/').all(is_step)
}

/// Returns true if a value is a name in another spelling: `{"label": "API key", "value": "api_key"}` is a choice.
pub(super) fn is_name(name: &str, value: &str) -> bool {
    let letters = |text: &'_ str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    value.len() <= 2 * name.len() && letters(name) == letters(value)
}

/// Returns true for a label of the field itself: `Password` under `password`, `Enter new password`.
fn is_label_of(name: &str, value: &str) -> bool {
    if value.contains(|c: char| c.is_ascii_digit()) || name == value {
        return false;
    }
    let words: Vec<&str> = value.split_whitespace().collect();
    let names_secret = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_shouted = word.chars().all(char::is_uppercase);
        word.len() > 3 && !is_shouted && secret_kind(word).is_some() && is_plain_secret_name(word)
    };
    let is_plain = || value.chars().all(|c| c.is_alphabetic() || " -_'’.,:?!/()*".contains(c));
    is_name(name, value) || (2..=6).contains(&words.len()) && is_plain() && words.iter().any(names_secret)
}

/// Returns true for a word without quotes that begins a sentence, and for a word where a machine would have made a token.
fn is_part_of_sentence(kind: SecretKind, value: &str, line: &str) -> bool {
    value.chars().all(char::is_alphabetic)
        && (SENTENCE.is_match(line)
            || kind == SecretKind::Token && line.starts_with(": ") && (4..=12).contains(&value.len()))
}

/// Returns true for a message: some words, at least one of which only sentences have, and no word that looks like a secret.
fn is_message(value: &str) -> bool {
    let mut words = value.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let is_sentence_word = |word: &str| is_in(SENTENCE_WORDS, &word.to_lowercase());
    let is_strange = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        digits > 3 || digits > 0 && word.len() > 4 && word.chars().any(char::is_alphabetic)
    };
    // A command with options.
    let is_option = |word: &str| {
        word.starts_with('-') && word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic())
    };
    if value.split_whitespace().skip(1).any(is_option) {
        return true;
    }
    if words.clone().nth(1).is_none() {
        return value.len() > 4
            && value.strip_suffix('?').is_some_and(|word| word.chars().all(char::is_alphabetic));
    }
    words.clone().any(is_sentence_word) && !words.any(is_strange)
}
