//! The rule that decides whether the value under the name of a secret is one.
//!
//! A secret is a value somebody can use to get in. A value that only speaks of one is none: a word that says that there is no
//! value, a mask, a reference to a place, a type, a version, source code, a message, a label, and the name of a secret itself.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portion_json::scan::unescape;
use regex::{Regex, RegexSet};

use super::code::{is_identifier, is_label};
use super::name::{SecretKind, is_phrase_name, is_plain_secret_name, normalized_words, secret_kind};
use super::pattern::{any_word, is_in, regex, regex_set};
use super::prefilter::token_beginnings;

/// Maximum bytes of a value whose words are read. A longer one is a secret.
const MAX_READ_BYTES: usize = 512;
/// Words that say that there is no value, what it has to be, or what became of it.
const STATUS_WORDS: &str = "null none nil undefined true false n/a optional missing invalid unset hidden blank absent unknown inherit \
    include omit same-origin read write todo value match mismatch pending basic bearer latest present approved declined yes";
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
/// First words of expressions.
const CODE_WORDS: &str =
    "await new not return if else lambda func function fn yield typeof async throw raise in void";
/// Names of facts about a word of a text.
const WORD_FACTS: &str = "pos tag lemma dep ner upos xpos feats deprel logprob log_prob prob probability start end start_char \
    end_char offset index idx position sentence freq frequency count score rank entity lang stem is_stop bytes bio iob line column";
/// Names of facts about a pin of a chip, and of those about a place, whose postal code is called a pin in India.
const PIN_FACTS: &str = "net gpio signal ref component city state district town pincode_area country";
/// Databases beside that of users.
const DATABASES: &str = "group shadow hosts gshadow";
/// Names of a user, letters only.
const LOGIN_NAMES: &str = "account email login loginid mail uid user userid username";
/// Values of passes that are results.
const RESULTS: &str = "0 1 error f fail failed false n no none null ok pass passed true yes";
/// Minimum and maximum bytes of a password that is recognized by itself.
const PASSWORD_BYTES: std::ops::RangeInclusive<usize> = 6..=128;
/// Units, and words that are one.
const UNITS: &str = "%|[kmgt]?i?b|[mun]?s|[hdwmy]|bits?|bytes?|chars?|characters?|digits?|ms|(?:milli|micro)?sec(?:ond)?s?|min(?:ute)?s?|hours?|\
    days?|weeks?|months?|years?|times?";

/// Values that speak of a secret, in any form.
static HARMLESS: LazyLock<RegexSet> = LazyLock::new(|| {
    let inside = r"[\w \-.:'/*•]";
    let cut = r"(?:\*{3}|•{3}|…|\.{3})";
    let version = r"(?:\d{1,6}|[x*])";
    regex_set(&[
        format!(r"^(?:{}|\\N|[A-Z]?[a-z]{{3,}}ed)$", any_word(STATUS_WORDS)),
        // Numbers with units, units, an abbreviation, a digest, a public key.
        format!(r"^(?i-u)(?:(?:\d[\d.,_]*\s*(?:{UNITS}))+|(?:seconds|minutes|hours|days|weeks|months|years))$"),
        r"^(?:\pL{1,3}\.){2,}$|^sha(?:1|256|384|512)[:\-][A-Za-z\d+/=]+$|^(?:ssh-|ecdsa-)[a-z\d\-]+ AAAA".to_owned(),
        // A date, perhaps with a time, and a colour.
        r"^\d{4}-\d\d-\d\d[\dT:.+\- Z]*$|^#(?:[[:xdigit:]]{3}){1,2}$".to_owned(),
        // A secret that is masked or cut, and the place of one: `****`, `<password>`, `sk-…`, `your_token`.
        format!(
            r"(?s)^(?:(?i-u:bearer|basic|token) )?(?:[*•●xX.·#\-_?]{{3,}}|<{inside}+>|\[{inside}+\]|\({inside}*\pL{inside}*\)|{cut}.*|.*{cut}|(?i-u:your)[-_ ].*)$"
        ),
        // What stands elsewhere: a template, the name of a resource. `${PASSWORD:-hunter2}` says what the value is.
        r"(?s)^(?:\S+\s+)?(?:\$\{(?:[^:]|:[^\-]|:-[}$])*:?-?$|\$[(\[]|\{\{|<%|#\{|%\{|\{%|@\{|\[\[|#/|!(?:Ref|Sub|GetAtt|ImportValue)|arn:|vault:|op://|ssm:|kms:|secretref:|keyvault:|env:|file:|workspace:|npm:|github:|git\+|link:|catalog:|projects/|alias/|@Microsoft\.KeyVault)".to_owned(),
        // A path in one of several places.
        r"^[A-Za-z][\w.]* \|\| ".to_owned(),
        // A block, a variable, a mark of a format.
        r"(?s)^(?:\\[nrt])*\{(?:$|.*[}:])|^\S+\s+\{(?:$|\S*[}:]\S*$)".to_owned(),
        r"^(?:\S+\s+)?\$(?:\d+|[A-Z_][A-Z\d_]*|[A-Za-z_.:>\-]{2,})[;,)]*$|^%(?:[\pL_]\w*%|[sdvqr]|\(.*\).*)$".to_owned(),
        // A URL without a user, a query, and a step that is no word.
        r"^[a-z][a-z+.\-]*://[^@?=\s/#]*(?:/(?:[^@?=\s/#]{0,8}|[^@?=\s/#\d]{9,24}))*(?:#[^@?=\s]*)?$".to_owned(),
        // A type: `Option<String>`, `varchar(255)`, `string | null`.
        format!(r"^[&*?]*{}\s*(?:[(<\[|=].*|null|optional|required)?[,;?!]*$", any_word(TYPES)),
        // A command with a file: `node scripts/token.js`, `cat /run/secrets/x`.
        r"^[a-z][\w-]* (?:\S+ )*(?:[\w.-]+(?:/[\w.-]+)*\.[a-z]{1,4}(?: |$)|/[\w./-]+$)".to_owned(),
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
        // Another name: `password= token=`. A path, and a member of an object.
        format!(r#"{lead}[\pL_\-]+(?:={end}|:["'])"#),
        format!(r"{lead}[\pL_]+(?:[.:]+[\pL_]+)+[.:]*{end}"),
        format!(r"{lead}(?:{}) ", CODE_WORDS.replace(' ', "|")),
        // What is assigned: `x := list`, `x = name;`, and the type in a declaration.
        format!(r"^\s*:=\s*{PREFIX}[\pL_]+(?:$|[\s,;)])|^(?: +[:=]*=\s*|[:=]*= +){PREFIX}[\pL_]+;"),
        format!(r"^:[:=>]*\s*{PREFIX}[A-Z][\pL_]*[a-z][\pL_]*(?:[ \t]*[,);]|[ \t]+[={{|?])"),
        r"^(?:\s+[:=>]+\s*|[:=>]+\s+|[=>]+|[:=>]{2,})[({]".to_owned(),
        // A command of PowerShell.
        r"^\s*=\s*[A-Z][a-z]+-[A-Z][A-Za-z]+(?:$|\s)".to_owned(),
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
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(r"^{LEAD}([\pL_]+)(?:$|[,;)}}]|\s+(?:$|[^\w\s]|(?:if|else|or|and|in|as)\s))"))
});
/// The beginnings of sentences after a colon or a separator: `the …`, and words of any kind.
static SENTENCE: LazyLock<Regex> = LazyLock::new(|| {
    let words = any_word(&format!("{SENTENCE_WORDS} {FIRST_WORDS}"));
    regex(&format!(r"^\s*[:=>]*\s*{words}[ ,]+\pL|^: \pL+[ ,]+\pL\S*(?:\s+\S+){{3}}"))
});
/// Words after a colon that say what became of a thing: a word and a small number or a parenthesis, a capital and a small word, a
/// word of a sentence among the next ones.
static REMARK: LazyLock<Regex> = LazyLock::new(|| {
    let words = any_word(SENTENCE_WORDS);
    regex(&format!(
        r"^: (?:\pL+ v?\d{{1,3}}(?:[ .,;!?)]|$)|(?:\pL+ ){{1,3}}\(|[A-Z]\pL* [a-z\u{{80}}-\u{{10ffff}}]+(?:[ .,;!?(]|$)|\pL{{4,}} (?:\pL+ )?{words}(?: |$))"
    ))
});
/// The default of a variable that is not set, `${DB_PASS:hunter2}`, and what follows the name of a hash: `{bcrypt}$2a$…`.
static ESSENCE: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^\$\{(?:[A-Z_]\w*|\w+(?:\.\w+)+):-?([^?+$#{}][^{}]*)\}?$|^\{[A-Za-z][\w-]*\}([^\s{}]{4,})$")
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
    let written = value.trim();
    let has_brace = written.starts_with(['{', '$']);
    let essence = Some(written)
        .filter(|_| has_brace)
        .and_then(|written| ESSENCE.captures(written))
        .and_then(|found| found.iter().skip(1).flatten().next());
    let value = essence.map_or(written, |essence| essence.as_str());
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
            // `Basic dXNlcjpw…`
            let scheme = value.split_once(' ').filter(|(scheme, _)| scheme.chars().all(char::is_alphabetic));
            let value = scheme.map_or(value, |(_, credential)| credential);
            !(is_random(value) || holds_random(value) || !is_argument && may_be_literal(name, value))
                || is_one_letter(value)
        }
        Form::Bare { .. } if essence.is_some() => false,
        Form::Bare { line } => {
            is_one_letter(value)
                || is_in(SHORT_STATUS_WORDS, &value.to_lowercase())
                || is_part_of_sentence(kind, name, value, line)
                || EXPRESSIONS.is_match(line) && !holds_random(value)
                || NAME.captures(line).is_some_and(|found| is_name_of_variable(name, &found[1]))
        }
    };
    !is_shown
        && match kind {
            SecretKind::Instructions => true,
            SecretKind::Doubtful => is_random(value) && !is_name_of_thing(value),
            SecretKind::Pass | SecretKind::PassOfUser => {
                !is_in(RESULTS, &value.to_lowercase())
                    && !value.contains(char::is_whitespace)
                    && (kind == SecretKind::PassOfUser || may_be_password(value, form))
            }
            SecretKind::Basic => {
                STANDARD.decode(value).is_ok_and(|login| login.contains(&b':') && login.is_ascii())
            }
            SecretKind::Key | SecretKind::Token => {
                let is_word = kind == SecretKind::Token && value.len() > 4 && is_label(value);
                !(is_word || is_message(value) || is_name_of_thing(value) || KEY_LABEL.is_match(value))
            }
            SecretKind::Password | SecretKind::Pin | SecretKind::PinOfPlace => !is_message(value),
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

/// Returns true for the name of a thing, in words: `db-creds-v2`, `orders.created`, `X-Api-Key`.
fn is_name_of_thing(value: &str) -> bool {
    static NAME: LazyLock<Regex> = LazyLock::new(|| {
        let word = r"(?:[A-Z]?[a-z]+|[A-Z]+)\d{0,2}";
        regex(&format!(r"^{word}(?:[-_./:](?:{word}|v?\d{{1,3}}))+$"))
    });
    let parts = || value.split(|c: char| !c.is_alphanumeric());
    let is_word = |part: &&str| part.len() > 4 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    if token_beginnings().any(|(beginning, _)| value.starts_with(beginning)) {
        return false;
    }
    is_words(value)
        || value.contains(['-', '_', '.', '/', ':'])
            && NAME.is_match(value)
            && parts().any(|part| part.len() > 2)
        || value.contains('-') && parts().filter(is_word).count() > 1
}

/// Returns true for words with capitals, of four letters and more on average: `nextToken`, `Win32_UI_PropertiesSystem`.
fn is_words(value: &str) -> bool {
    static WORDS: LazyLock<Regex> =
        LazyLock::new(|| regex(r"^(?:_*(?:[A-Z]+[a-z]*|[a-z]+)(?:\d\d?(?:_|$))?)+$"));
    let is_begun = |pair: &[u8]| !pair[0].is_ascii_uppercase() && pair[1].is_ascii_uppercase();
    let begun = value.as_bytes().windows(2).filter(|pair| is_begun(pair)).count();
    begun > 0 && value.len() >= 4 * (begun + 1) && WORDS.is_match(value)
}

/// Returns true for a word that a machine made, or a person who was told to: letters and digits in turn, or capitals and small
/// letters.
pub(super) fn is_random(value: &str) -> bool {
    let is_token = |c: char| c.is_alphanumeric() || "_-.~+/=!#%^&@$".contains(c);
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_alphabetic());
    let turns = value.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    // `DOT11_AUTH_80211_PSK`, `x25519_private_key`, `ed25519.Ed25519PrivateKey`
    let is_name = is_identifier(value)
        && value.contains('_')
        && !(value.contains(char::is_uppercase) && value.contains(char::is_lowercase));
    let case = |byte: u8| (byte.is_ascii_uppercase(), byte.is_ascii_lowercase());
    let cases = value.as_bytes().windows(2).filter(|pair| case(pair[0]) != case(pair[1])).count();
    let is_mixed = value.len() >= 16 && cases * 5 >= value.len() * 2;
    value.len() >= 8
        && (digits >= 2 && turns >= 3 || is_mixed)
        && value.contains(char::is_alphabetic)
        && value.chars().all(is_token)
        && !is_name
        && !is_words(value)
        && !value.starts_with("0x")
}

/// Returns true if a word of a value is random.
fn holds_random(value: &str) -> bool {
    value.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(is_random)
}

/// Returns true for a string in source code that may be a secret: one word with digits, or of letters alone.
fn may_be_literal(name: &str, value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_sign = |c: char| "()[]{}\\|<>".contains(c) && digits < 4;
    let is_word = !value.contains(|c: char| c.is_whitespace() || is_sign(c));
    let is_password = || {
        ["password", "passwd", "pwd", "passphrase"].iter().any(|end| name.to_lowercase().ends_with(end))
            && value.chars().all(|c| c.is_alphabetic() || c == ' ')
    };
    is_word && digits > 0 || is_password()
}

/// Words as people write them, the first with a capital: a machine makes no such key. `Clé API`, `API Anahtarı`.
static KEY_LABEL: LazyLock<Regex> = LazyLock::new(|| {
    let word = r"(?:\pL')?(?:[A-Z]{2,}|[^\dA-Z\s]+)";
    regex(&format!(r"^[A-Z]{{2,4}}(?: \pL+)+$|^[A-Z\u{{80}}-\u{{10ffff}}][^\dA-Z\s]*(?: {word})+$"))
});
/// The contract of a coin.
static CONTRACT: LazyLock<Regex> = LazyLock::new(|| regex(r"^0x[[:xdigit:]]{40}$"));
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
    let is = |own: &str| name.eq_ignore_ascii_case(own);
    let is_letters = || value.chars().all(|c| c.is_alphabetic() || c == '_');
    kind == SecretKind::Token && (digits.is_empty() && letters <= 5 || CONTRACT.is_match(value))
        || matches!(name, "PWD" | "OLDPWD") && value.starts_with(['/', '~', '.'])
        || (is("mnemonic") || is("authorization")) && value.len() <= 16 && is_letters()
        || (is("cookie") || is("cookies")) && is_cookie_name()
        || matches!(kind, SecretKind::Pin | SecretKind::PinOfPlace)
            && (PARCEL.is_match(value)
                || is_number && (1..5).contains(&letters) && (1..3).contains(&digits.len()))
        || kind == SecretKind::PinOfPlace && digits.is_empty() && letters <= 5
        || kind == SecretKind::PinOfPlace && is_number && letters == 0 && matches!(digits.len(), 1..4 | 6)
        || is("pincode") && is_number && value.len() == 6
}

/// Returns true if a string, as written in JSON, is a secret.
pub(super) fn is_secret_json(kind: SecretKind, name: &str, quoted: &str) -> bool {
    // Values of one or two letters are data even if they look like a mark for none.
    let value = unescape(quoted);
    let is_short = (1..3).contains(&value.len())
        && !matches!(kind, SecretKind::Doubtful | SecretKind::Basic | SecretKind::Pass)
        && !is_symbol(kind, name, &value);
    is_short || is_secret_value(kind, name, &value, Form::Data)
}

/// Returns the kinds of secrets, as bits, beside which a name of a fact changes what they are.
pub(super) fn facts_of_name(name: &str) -> u16 {
    let name = if name.len() <= 16 { name.to_lowercase() } else { String::new() };
    let letters: String = name.chars().filter(char::is_ascii_alphabetic).collect();
    let bit = |facts: &str, name: &str, kind: SecretKind| u16::from(is_in(facts, name)) << kind as u16;
    bit(WORD_FACTS, &name, SecretKind::Token)
        | bit(PIN_FACTS, &name, SecretKind::Pin)
        | bit(DATABASES, &name, SecretKind::Password)
        | bit(LOGIN_NAMES, &letters, SecretKind::Pass)
}

/// Returns true for one word that is no result and looks like a password.
fn may_be_password(value: &str, form: Form<'_>) -> bool {
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let is_after_colon = matches!(form, Form::Bare { line } if line.starts_with(':'));
    PASSWORD_BYTES.contains(&value.len())
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !value.contains(['/', '.', '('])
        && (!is_after_colon || is_random(value))
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
    let is_word = |c: char| c.is_alphanumeric() || " _-.".contains(c);
    value.len() <= 2 * name.len() && value.chars().all(is_word) && letters(name) == letters(value)
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
    let may_be_label = || words.len() > 1 || value.starts_with(char::is_uppercase);
    is_name(name, value) || words.len() < 7 && may_be_label() && is_plain() && words.iter().any(names_secret)
}

/// Returns true for a word without quotes that begins a sentence, and for a word where a machine would have made a token.
fn is_part_of_sentence(kind: SecretKind, name: &str, value: &str, line: &str) -> bool {
    let (first, rest) = value.split_once([' ', ',']).unwrap_or((value, ""));
    let is_made = matches!(kind, SecretKind::Token | SecretKind::Key) && line.starts_with(": ");
    let is_followed = || line[2..].trim_start().strip_prefix(first).is_some_and(|rest| rest.starts_with(' '));
    // One word that names a secret is the subject of a remark: `token: drop v1`. More are a label: `Wi-Fi password: Sunny beach`.
    let is_subject = || {
        !name.contains([' ', '_', '-', '.'])
            && REMARK.is_match(line)
            && !is_phrase_name(name)
            && is_plain_secret_name(name)
    };
    !first.is_empty()
        && first.chars().all(char::is_alphabetic)
        && (rest.is_empty() && SENTENCE.is_match(line)
            || is_subject()
            || is_made && (rest.is_empty() && (4..=12).contains(&first.len()) || is_followed()))
}

/// Returns true for a message: some words, at least one of which only sentences have, and no word that looks like a secret; words
/// of other scripts; a label of several words.
fn is_message(value: &str) -> bool {
    static LABEL: LazyLock<Regex> = LazyLock::new(|| {
        regex(
            r"^(?:[A-Z]{2,} ?)?(?:[\u{370}-\u{52f} ]+|[\u{590}-\u{6ff} ]+|[\u{900}-\u{e7f} ]+|[\u{3040}-\u{30ff}\u{3400}-\u{9fff}\u{ac00}-\u{d7a3} ]+)(?: ?[A-Z]{2,})?$|^[A-Z\u{c0}-\u{24f}][^\d\sA-Z]*(?: [^\d\sA-Z]+){2,}$",
        )
    });
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
    let may_be_label = value.contains(' ') || !value.is_ascii();
    if may_be_label && LABEL.is_match(value) || value.split_whitespace().skip(1).any(is_option) {
        return true;
    }
    if words.clone().nth(1).is_none() {
        return value.len() > 4
            && value.strip_suffix('?').is_some_and(|word| word.chars().all(char::is_alphabetic));
    }
    words.clone().any(is_sentence_word) && !words.any(is_strange)
}

#[cfg(test)]
mod tests {
    use super::{Form, SecretKind, is_secret_value};

    #[test]
    fn passwords_are_told_from_results() {
        for (value, alone, beside_login) in [
            ("hunter2", true, true),
            ("secret", false, true),
            ("true", false, false),
            ("PASSED", false, false),
            ("123", false, true),
            ("inline", false, true),
            ("12 of 13", false, false),
            ("test_a1.py", false, true),
            ("", false, false),
        ] {
            let is_secret = |kind| is_secret_value(kind, "pass", value, Form::Data);
            assert_eq!(
                (is_secret(SecretKind::Pass), is_secret(SecretKind::PassOfUser)),
                (alone, beside_login),
                "{value}"
            );
        }
    }
}
