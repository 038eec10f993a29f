//! The rule that decides whether the value under the name of a secret is one.
//!
//! A secret is a value somebody can use to get in. A value that only speaks of one is none: a word that says that there is no
//! value, a mask, a reference to a place, a type, a version, source code, a message, a label, and the name of a secret itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portion_json::scan::unescape;

use super::code::{is_code, is_identifier};
use super::name::{SecretKind, is_in, is_plain_secret_name, secret_kind};

/// Maximum bytes of a value whose words are read. A longer one is a secret.
const MAX_READ_BYTES: usize = 512;
/// Words that say that there is no value, what it has to be, or what became of it.
const STATUS_WORDS: &str = "null none nil undefined true false n/a required optional missing invalid unset \
    hidden masked redacted filtered encrypted removed enabled disabled expired revoked blank absent unknown inherit include omit \
    same-origin read write todo value match pending basic bearer latest changed unchanged rejected accepted updated rotated refreshed";
/// Short words that say so where a value has no quotes.
const SHORT_STATUS_WORDS: &str = "yes no on off na nan any";
/// Names of types.
const TYPES: &str = "string str text number int integer float boolean bool bytes byte object array list dict uuid varchar char \
    bytea blob date datetime optional option string[] str[] secretstr securestring secretstring cstring osstring";
/// Architectures and tags after the name of a package: `passwd:amd64`, `jwt:latest`.
const PACKAGE_TAGS: &str = "all any native noarch amd64 arm64 armhf armel i386 i686 x86 x64 x86_64 aarch64 ppc64el s390x riscv64 \
    mips64el latest stable edge alpine slim next";
/// Words of sentences that no secret of several words has.
const SENTENCE_WORDS: &str = "about already and any are as at be been before but by can cannot cannot characters could did digits do does doesn't don't \
    enter few for forgot from had has have here how if in incorrect insert invalid is isn't least letters may missing must need needs no not \
    of on only or our please provide required see shall should than that the their them then there these they this those to too \
    type unless until upon use used using want was were what when where which while who why will with without would wrong you your";
/// Beginnings of references to a value elsewhere.
const REFERENCES: &str = "${ $( $[ {{ <% #{ %{ {% @{ [[ arn: vault: op:// ssm: kms: secretref: keyvault: env: file: workspace: \
    npm: github: git+ link: catalog: projects/ @Microsoft.KeyVault !Ref !Sub !GetAtt !ImportValue #/";
/// Characters at least one of which each of these has.
const REFERENCE_MARKS: [char; 11] = ['$', '{', '<', '#', '%', '@', '[', '!', ':', '/', '+'];
/// Longest symbol of a coin, in bytes.
const MAX_SYMBOL_BYTES: usize = 5;
/// Minimum words of a sentence after its first one.
const MIN_SENTENCE_WORDS: usize = 4;
/// Names of facts about a word of a text.
const LINGUISTIC_NAMES: &str = "pos tag lemma dep ner upos xpos feats deprel logprob log_prob prob probability start end start_char \
    end_char offset index idx position sentence freq frequency count score rank entity lang stem is_stop bytes bio iob";
/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form<'t> {
    /// As data: in quotes, in a cell, in an element.
    Data,
    /// As a string in source code, perhaps as the argument of a call.
    Literal { is_argument: bool },
    /// Without quotes in a text, which may be source code: with the separator before it and what follows it.
    Bare { separator: &'t str, after: &'t str },
}

/// Returns true if a value under the name of a secret of this kind is a secret.
pub(super) fn is_secret_value(kind: SecretKind, name: &str, value: &str, form: Form<'_>) -> bool {
    let value = value.trim();
    // No word for a status, and no name of a type, has a digit.
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let is_masked = |value: &str| {
        let (scheme, secret) = value.split_once(' ').unwrap_or_default();
        is_in("bearer basic token", &scheme.to_ascii_lowercase()) && is_mask(secret)
    };
    if !value.contains(char::is_alphanumeric)
        || is_date(value)
        || is_symbol(kind, name, value)
        || form != Form::Data
            && value.len() > 2
            && value.chars().all(|c| c.is_alphabetic() && value.starts_with(c))
        || is_mask(value)
        || is_masked(value)
        || !has_digit && is_in(STATUS_WORDS, &lower(value))
    {
        return false;
    }
    if value.len() > MAX_READ_BYTES {
        return true;
    }
    if is_reference(value) || is_type(value) || is_version(value) || is_label_of(name, value) {
        return false;
    }
    if let Form::Bare { separator, after } = form
        && (is_in(SHORT_STATUS_WORDS, &lower(value))
            || value.len() < 3 && value.parse::<u8>().is_ok()
            || is_part_of_sentence(kind, value, separator, after)
            || is_code(name, value, separator, after)
            || is_package_tag(value, separator)
            || is_rule_of_grammar(value, separator)
            || separator == ":" && secret_kind(value).is_some() && is_plain_secret_name(value))
    {
        return false;
    }
    if let Form::Literal { is_argument } = form
        && !(is_random(value) || !is_argument && may_be_literal(name, value))
    {
        return false;
    }
    match kind {
        SecretKind::Instructions => true,
        SecretKind::Word => !is_word(value),
        SecretKind::Basic => {
            STANDARD.decode(value).is_ok_and(|login| login.contains(&b':') && login.is_ascii())
        }
        SecretKind::Token | SecretKind::Password => !is_message(value),
    }
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

/// Returns true for a code that names something: the symbol of a coin, a pin of a chip, a colour.
fn is_symbol(kind: SecretKind, name: &str, value: &str) -> bool {
    let is_hex =
        |digits: &str| matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_of_chip = || {
        let number = value.trim_start_matches(|c: char| c.is_ascii_uppercase());
        value.len() - number.len() == 1
            && matches!(number.len(), 1 | 2)
            && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    kind == SecretKind::Token
        && value.len() <= MAX_SYMBOL_BYTES
        && value.bytes().all(|byte| byte.is_ascii_uppercase())
        || value.strip_prefix('#').is_some_and(is_hex)
        || name.eq_ignore_ascii_case("pin") && is_of_chip()
}

/// Returns true for a date, perhaps with a time: `2026-01-31T10:20:30Z`.
fn is_date(value: &str) -> bool {
    let (date, time) = value.split_at_checked(10).unwrap_or_default();
    let is_digit = |at: usize, byte: u8| {
        matches!(at, 4 | 7) == (byte == b'-') && (byte == b'-' || byte.is_ascii_digit())
    };
    !date.is_empty()
        && date.bytes().enumerate().all(|(at, byte)| is_digit(at, byte))
        && time.chars().all(|c| c.is_ascii_digit() || "T:.+-Z ".contains(c))
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

fn lower(value: &str) -> String {
    value.get(..24).map_or_else(|| value.to_lowercase(), str::to_lowercase)
}

/// Returns true for a secret that is masked or cut, and for the place of one: `****`, `<password>`, `sk-…`, `your_token`.
fn is_mask(value: &str) -> bool {
    let is_sign = |c: char| "*•●xX.·#-_?".contains(c);
    let in_marks = |open: char, close: char| {
        let inside = value.strip_prefix(open).and_then(|inside| inside.strip_suffix(close));
        inside.is_some_and(|inside| {
            !inside.is_empty() && inside.chars().all(|c| c.is_alphanumeric() || " _-.:'/*•".contains(c))
        })
    };
    value.len() > 2 && value.chars().all(is_sign)
        || matches!(value, "-" | "~" | "--" | "?" | "…" | "*" | "//" | "{}" | "[]" | "()" | "\"\"" | "''")
        || in_marks('<', '>')
        || in_marks('[', ']')
        || in_marks('(', ')') && value.chars().any(char::is_alphabetic)
        || ["***", "•••", "…", "..."].iter().any(|mark| value.starts_with(mark) || value.ends_with(mark))
        || ["your-", "your_", "your "]
            .iter()
            .any(|word| value.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)))
}

/// Returns true for a value that stands elsewhere: a variable, the name of a resource, a path.
fn is_reference(value: &str) -> bool {
    // `${PASSWORD:-hunter2}` says what the value is where the variable has none.
    let default = value.strip_prefix("${").and_then(|variable| variable.split_once(":-"));
    if let Some(default) = default.map(|(_, default)| default.trim_end_matches('}'))
        && !default.is_empty()
        && !default.starts_with('$')
    {
        return false;
    }
    let is_variable = |name: &str| {
        let is_constant = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        !name.is_empty()
            && (name.bytes().all(|byte| byte.is_ascii_digit())
                || name.chars().all(is_constant) && !name.starts_with(|c: char| c.is_ascii_digit())
                || name.chars().all(|c| c.is_ascii_alphabetic() || "_.:>-".contains(c)) && name.len() > 1)
    };
    let first = value.split_whitespace().nth(1).map_or(value, |second| {
        // `Bearer ${TOKEN}`
        if value.split_whitespace().count() == 2 { second } else { value }
    });
    let is_constant = |name: &str| {
        name.contains('_')
            && is_variable(name)
            && !name.contains(char::is_lowercase)
            && secret_kind(name).is_some()
    };
    let inside = value.trim_start_matches("\\n").trim_start_matches("\\r").trim_start_matches("\\t");
    is_constant(value)
        || is_block(inside)
        || value.contains(REFERENCE_MARKS)
            && REFERENCES.split(' ').any(|start| value.starts_with(start) || first.starts_with(start))
        || first != value && is_block(first)
        || first.strip_prefix('$').is_some_and(|name| is_variable(name.trim_end_matches([';', ',', ')'])))
        || value.strip_prefix('%').and_then(|rest| rest.strip_suffix('%')).is_some_and(is_identifier)
        || matches!(value.strip_prefix('%'), Some("s" | "d" | "v" | "q" | "r"))
        || value.starts_with("%(") && value.contains(')')
        || is_path(value)
        || is_address(value)
}

/// Returns true for what stands in braces.
fn is_block(value: &str) -> bool {
    value.strip_prefix('{').is_some_and(|rest| rest.is_empty() || rest.contains(['}', ':']))
}

/// Returns true for the path of a file or of a page. Base64 has capitals and digits in one step, and other signs.
fn is_path(value: &str) -> bool {
    let rest = ["./", "../", "~/", "/"].iter().find_map(|start| value.strip_prefix(start));
    rest.is_some_and(|rest| {
        rest.len() > 3
            && (rest.contains('/') || value.starts_with('.') || rest.contains('.'))
            && rest.split('/').all(is_step)
    })
}

fn is_step(step: &str) -> bool {
    let has = |is: fn(&u8) -> bool| step.as_bytes().iter().any(is);
    step.chars().all(|c| c.is_alphanumeric() || "._-{}:$*@~".contains(c))
        && !(has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit))
}

/// Returns true for a URL that contains no secret: no user, no query, and only words in its path.
fn is_address(value: &str) -> bool {
    let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let path = rest.split('#').next().unwrap_or_default();
        let is_word = |step: &str| step.len() <= 8 || !step.bytes().any(|byte| byte.is_ascii_digit());
        !rest.contains(['@', '?', '=', ' '])
            && path.split('/').skip(1).all(|step| step.len() <= 24 && is_word(step))
    })
}

/// Returns true for the name of a type: `string`, `Option<String>`, `varchar(255)`, `string | null`.
fn is_type(value: &str) -> bool {
    let plain = value.trim_start_matches(['&', '*', '?']).trim_end_matches([',', ';', '?', '!']);
    let end = plain.find(['(', '<', '[', ' ', '|']).unwrap_or(plain.len());
    let rest = plain[end..].trim_start();
    !plain[..end].bytes().any(|byte| byte.is_ascii_digit())
        && is_in(TYPES, &lower(&plain[..end]))
        && (rest.is_empty()
            || rest.starts_with(['(', '<', '[', '|', '='])
            || is_in("null optional required", rest))
}

/// Returns true for a version or a range of versions: `0.5.0`, `^1.2`, `>=1.0,<2`, `9.0.2-alpine`.
fn is_version(value: &str) -> bool {
    let is_range_sign = |c: char| "^~=<>!v ".contains(c);
    let is_one = |version: &str| {
        let number = version.trim_start_matches(is_range_sign);
        let core = number.split(['-', '+']).next().unwrap_or_default();
        let is_part = |part: &str| {
            matches!(part, "x" | "*")
                || !part.is_empty() && part.len() <= 6 && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        let has_sign = number.len() < version.len();
        number.len() <= 32
            && core.split('.').all(is_part)
            && (core.contains('.') || has_sign && core.len() <= 3)
            && number.chars().all(|c| c.is_ascii_alphanumeric() || ".-+*".contains(c))
    };
    value.len() <= 64 && value.split([',', '|']).map(str::trim).filter(|one| !one.is_empty()).all(is_one)
}

/// Returns true for a repetition in a grammar: `token = 1*tchar`.
fn is_rule_of_grammar(value: &str, separator: &str) -> bool {
    let repeated = value.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('*');
    separator.trim() == "="
        && separator.starts_with(' ')
        && repeated
            .is_some_and(|rule| rule.len() > 2 && rule.chars().all(|c| c.is_ascii_alphabetic() || c == '-'))
}

fn is_package_tag(value: &str, separator: &str) -> bool {
    separator == ":"
        && is_in(PACKAGE_TAGS, &lower(value.split(['-', '(', ' ', '\t']).next().unwrap_or_default()))
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
fn is_part_of_sentence(kind: SecretKind, value: &str, separator: &str, after: &str) -> bool {
    let is_word = value.chars().all(char::is_alphabetic);
    let begins = after.trim_start_matches([',', ' ']).starts_with(char::is_alphabetic)
        && after.starts_with([' ', ',']);
    let word = lower(value);
    let is_sentence = || separator == ": " && after.split_whitespace().nth(MIN_SENTENCE_WORDS - 1).is_some();
    is_word
        && begins
        && (is_in(SENTENCE_WORDS, &word) || is_in("a an he it she we i", &word) || is_sentence())
        || is_word && kind == SecretKind::Token && separator == ": " && (4..=12).contains(&value.len())
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
    let is_single = value.split_whitespace().nth(1).is_none();
    if is_single {
        return value.len() > 4
            && value.ends_with('?')
            && value.trim_end_matches('?').chars().all(char::is_alphabetic);
    }
    words.clone().any(is_sentence_word) && !words.any(is_strange)
}
