//! Recognizes the names of secrets by their words: `wifiPassword`, `session_token`, `door-code`.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern::regex;
use super::prefilter::may_hold;

/// Kind of the value under the name of a secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SecretKind {
    /// A password or a code, which a person may have chosen.
    #[default]
    Password,
    /// A personal number of a few digits. Chips and addresses have pins, too.
    Pin,
    /// A pin beside facts about a chip or a place.
    PinOfPlace,
    /// A key or a secret: made by a machine, so no words of a language.
    Key,
    /// As a key. Words of texts are called tokens, too.
    Token,
    /// A secret only if it is random: a key of some kind, what is said about a secret (`token_use`), and a token beside facts
    /// about words.
    Doubtful,
    /// A password if it looks like one. Results of tests and steps of compilers are passes, too.
    Pass,
    /// A pass beside the name of a user.
    PassOfUser,
    /// The user and the password in base64, as Docker stores them under `auth`.
    Basic,
    /// Sentences that let somebody in: instructions, the place of a key.
    Instructions,
}

impl SecretKind {
    /// Returns the kind beside facts of these kinds, as bits, about something else of the same name.
    pub(super) fn beside(self, facts: u16) -> Self {
        let is_beside_facts = facts & (1 << self as u16) != 0;
        match self {
            Self::Token if is_beside_facts => Self::Doubtful,
            Self::Pin if is_beside_facts => Self::PinOfPlace,
            Self::Pass if is_beside_facts => Self::PassOfUser,
            kind => kind,
        }
    }
}

/// Words that make every name containing them a secret.
const SECRET_WORDS: &str = "password passwords passwd pwd passphrase passcode passkey secret secrets credential credentials \
    cred creds authorization ssn cvv cvc cvv2 bearer jwt otp totp psk presharedkey mnemonic seedphrase connstr";
/// Words that make a secret together, which may be plural.
const SECRET_PAIRS: &[(&str, &str)] = &[
    (
        "api access private secret signing encryption decryption ssh auth shared master service wifi license account \
         subscription recovery preshared network storage deploy admin webhook hmac unseal symmetric session app application client",
        "keys?",
    ),
    (
        "door security access entry gate lock lockbox keybox alarm pin keypad verification auth authorization recovery backup \
         onetime wifi building mfa otp 2fa fa factor unlock pairing sms login guest master disarm",
        "codes?",
    ),
    ("key", "contents?"),
    ("card cc", "(?:number|code)"),
    ("secure connection conn", "(?:string|strs?)"),
    ("access refresh auth api device", "tokens?"),
    ("seed recovery mnemonic backup", "phrase"),
];
/// Words that name other things, too: `pin-project` is no PIN, and `Cookies sold` is no cookie.
const AMBIGUOUS_WORDS: &str =
    "pin $| pin (?:codes?|number) | cookies? $| cookies? (?:value|string|header|secret) ";
/// Words before `pass` and `pw` that make a secret. Other passes are results of tests, steps or tickets.
const PASSWORD_OWNERS: &str = "account admin amqp ansible app archive auth become bind client database db email ftp gmail http \
    imap jdbc keystore ldap login mail mongo mongodb mqtt mssql mysql oracle pg pgsql pop postgres postgresql rabbitmq redis require root \
    router samba sftp smb smtp sql ssh ssl sudo svc truststore user usr vnc vpn wp zip";
/// Words after the name of a secret that still mean the secret, beside those before `pass`: `password_hash`, `TOKEN_GITHUB`.
const QUALIFIERS: &str = "again backup base64 body bytes confirm confirmation content contents current data dev digest encoded encrypted \
    binary env github gitlab hash hex live local new old plain plaintext prod production raw redacted repeat repeated sandbox secret stage \
    staging string stripe test text value values";
/// Words before `key` that say little. Such a key, the id of a secret and a list of tokens are secrets if they are random.
const DOUBTFUL_KEYS: &str =
    "primary secondary integration routing write host fernet payment certificate registry ingest stream";
/// Ends of names that are written as one word.
const SECRET_SUFFIXES: &str = "password passwd passphrase passwort passwörter kennwort contraseña wachtwoord secret apikey apikeys accesskey \
    privatekey secretkey accountkey accesstoken refreshtoken identitytoken registrytoken authtoken sessiontoken idtoken apitoken doorcode securitycode pincode \
    cardnumber connectionstring";
/// Words for an access to a building, and the words after them that make it a secret: information for a guest alone, such as
/// `keyPickup` or `gate_instructions`. Software has codes of pressed keys, and instructions of locks.
const ENTRY_NOUNS: &str =
    "access alarm building buzzer door elevator entrance entry garage gate intercom padlock safe smartlock";
const ENTRY_SECRETS: &str = "code codes combination combo instruction instructions keycode passcode pin";
const KEY_PLACES: &str = "keybox keypad keys keysafe lockbox";
const KEY_SECRETS: &str = "handover instruction instructions keycode location passcode pickup pin";
const LOCK_SECRETS: &str = "code codes combination combo instructions keycode passcode pin";
/// Words that make a secret after `wifi`.
const WIFI_SECRETS: &str = "code credentials key login pass password psk user username";
/// Last words of names that describe an entry and let nobody in: `keyPickupFee`, `doorCodeUpdatedOn`.
const ENTRY_METADATA_WORDS: &str = "amount at cost count date enabled expiry expires fee fees id ids length on policy price required \
    status tax time type until updated valid";
/// Words of sentences that let somebody in.
const INSTRUCTION_WORDS: &str = "collection combination handover instruction instructions location pickup";
/// Last words of names that describe a secret without containing it.
const METADATA_WORDS: &str = "at date time age updated expires expiry expiration expired in ttl length len count policy type kind id \
    ids name names url uri endpoint required enabled set valid strength status limit limits usage used version format field label \
    consent banner domain path file address hint on fee price cost ref arn prefix suffix error errors message placeholder title \
    description help budget reset resets symbol encryption algorithm method mode scheme regex pattern rule rules validator index store manager provider \
    check checks match result results accessor program supported use";
/// First words of names of conditions, counts and actions.
const QUESTION_WORDS: &str = "has is max min num total requires require needs can use show no forgot";
/// Words before `secret` in names of secrets that are kept elsewhere, in Kubernetes, and before `token` in messages of parsers.
const REFERENCE_WORDS: &str = "existing mountable pull tls unexpected invalid illegal";
/// Words for places in a list.
const PAGE_WORDS: &str = "page pages paging pagination next prev previous continuation cursor";
/// Further words beside which `token` means a place in a list or a piece of text.
const NON_SECRET_TOKEN_WORDS: &str = "bucket ring sync delta progress change resume \
    per scroll start eos bos pad unk cls sep mask stop special end text word map res response based stream tree span parser lexer";
/// Last words of the names of secrets that are written in sentences.
const PHRASE_WORDS: &str =
    "instruction instructions passphrase collection combination handover pickup pick-up pick_up";
/// Words that are often written as two.
const JOINED_WORDS: &str = "wi-fi check-in pick-up hand-over lock-box key-box key-safe key-pad pass-phrase pass-key pass-code pass-word pre-shared one-time";

/// Patterns for the words of a name, with a space before and after each.
struct NamePatterns {
    entry: Regex,
    no_entry: Regex,
    instructions: Regex,
    metadata: Regex,
    password: Regex,
    /// A secret, and nothing but qualifiers after it.
    certain: Regex,
    key: Regex,
    pin: Regex,
    doubtful: Regex,
    pair: Regex,
    token: Regex,
    page: Regex,
    no_token: Regex,
    plain: Regex,
}

static PATTERNS: LazyLock<NamePatterns> = LazyLock::new(|| {
    let any = |words: &str| format!("(?:{})", words.replace(' ', "|"));
    let (nouns, questions, page) = (any(ENTRY_NOUNS), any(QUESTION_WORDS), any(PAGE_WORDS));
    let (suffixes, secrets, owners) = (any(SECRET_SUFFIXES), any(SECRET_WORDS), any(PASSWORD_OWNERS));
    let (entry, wifi) = (any(ENTRY_SECRETS), any(WIFI_SECRETS));
    let pairs: Vec<_> =
        SECRET_PAIRS.iter().map(|(first, second)| format!("{} {second}", any(first))).collect();
    let pairs = pairs.join("|");
    let parts = SECRET_PAIRS.iter().map(|(first, second)| format!("{}|{second}|", any(first)));
    let parts = parts.collect::<String>();
    let [keys, key, lock] = [KEY_PLACES, KEY_SECRETS, LOCK_SECRETS].map(any);
    let tokens = any(NON_SECRET_TOKEN_WORDS);
    let qualified = format!("(?:{}|{owners})", any(QUALIFIERS));
    NamePatterns {
        entry: regex(&format!(
            " (?:{nouns} {entry}|{keys} (?:{entry}|{key}|collection)|key {key}|lock {lock}|(?:arrival|checkin) instructions?|wifi {wifi}) "
        )),
        no_entry: regex(&format!("^ {questions} | {} $", any(ENTRY_METADATA_WORDS))),
        certain: regex(&format!(
            "(?:{suffixes}| (?:{secrets}|{pairs}|(?:auth)?token)| {owners} ?(?:pass|pw)| pin(?: codes?| number)?| cookies?(?: header)?)(?: {qualified})* $"
        )),
        key: regex(&format!(
            "(?:keys?|secrets?|creds?|credentials?|jwt|bearer|contents?)(?: {qualified})* $"
        )),
        pin: regex(" pin ?(?:codes? |number )?$"),
        doubtful: regex(&format!(
            " (?:{} keys?|secret id|{} (?:secrets?|tokens?)) $",
            any(DOUBTFUL_KEYS),
            any(REFERENCE_WORDS)
        )),
        instructions: regex(&format!(" {} ", any(INSTRUCTION_WORDS))),
        metadata: regex(&format!("^ {questions} | {} $", any(METADATA_WORDS))),
        password: regex(&format!(
            "{suffixes} | (?:{secrets}|{pairs}) | {owners} ?(?:pass|pw) $| {AMBIGUOUS_WORDS}"
        )),
        pair: regex(&format!("^ (?:{pairs}) $")),
        token: regex(" (?:auth)?tokens? "),
        page: regex(&format!(" {page} ")),
        no_token: regex(&format!(" (?:{page}|{tokens}) ")),
        plain: regex(&format!(
            "^(?: (?:{secrets}|{suffixes}|{parts}{nouns}|{entry}|{keys}|{key}|lock|collection|pin|cookies?|tokens?|wifi))+ $"
        )),
    }
});

/// Returns the kind of secret that a member of this name holds; `None` if it is no name of a secret.
pub(super) fn secret_kind(name: &str) -> Option<SecretKind> {
    if ["pass", "pw"].iter().any(|short| name.eq_ignore_ascii_case(short)) {
        return Some(SecretKind::Pass);
    }
    // No name of a secret is longer, or has none of the parts, and `AWS::IAM::AccessKey` is a type.
    if name.len() > 128 || name.len() < 3 || name.contains("::") || !may_hold(name) {
        return None;
    }
    if let Some((before, last)) = name.rsplit_once('/') {
        return kind_of_path(before, last);
    }
    if matches!(name, "_auth" | "auth") {
        return Some(if name == "auth" { SecretKind::Basic } else { SecretKind::Password });
    }
    let name = name.split('=').next().unwrap_or(name);
    let (words, names) = (phrase(name), &*PATTERNS);
    if names.entry.is_match(&words) && !names.no_entry.is_match(&words) {
        let is_told = names.instructions.is_match(&words);
        return Some(if is_told { SecretKind::Instructions } else { SecretKind::Password });
    }
    if names.doubtful.is_match(&words) {
        return Some(SecretKind::Doubtful);
    }
    if words.matches(' ').count() > 2 && names.metadata.is_match(&words) {
        return None;
    }
    let is_password = names.password.is_match(&words);
    let is_token = || names.token.is_match(&words) && !names.no_token.is_match(&words);
    if !is_password && !is_token() {
        return None;
    }
    let kinds = [(&names.pin, SecretKind::Pin), (&names.key, SecretKind::Key)];
    if !names.certain.is_match(&words) {
        return Some(SecretKind::Doubtful);
    }
    let kind = kinds.into_iter().find_map(|(pattern, kind)| pattern.is_match(&words).then_some(kind));
    Some(kind.unwrap_or(if is_password { SecretKind::Password } else { SecretKind::Token }))
}

/// Returns the kind of a secret whose name is written as a path with slashes: `/prod/db/password`. Other keys of paths, like
/// those of URLs, are no names; `api/key` is one of two words.
fn kind_of_path(before: &str, last: &str) -> Option<SecretKind> {
    let is_pair = || !before.contains('/') && PATTERNS.pair.is_match(&phrase(&format!("{before}_{last}")));
    let is_password = || {
        let first = normalized_words(last).into_iter().next().unwrap_or_default();
        !matches!(first.as_str(), "cookie" | "cookies" | "jwt" | "pin" | "bearer")
            && secret_kind(last).is_some_and(|kind| !matches!(kind, SecretKind::Token | SecretKind::Doubtful))
    };
    let steps = before.split('/').filter(|step| !step.is_empty()).count();
    (is_pair() || steps > usize::from(before.starts_with('/')) && is_password())
        .then_some(SecretKind::Password)
}

/// Returns true if all words of a name belong to the names of secrets: `password`, `access_token`, not `secret_x`.
pub(super) fn is_plain_secret_name(name: &str) -> bool {
    PATTERNS.plain.is_match(&phrase(name))
}

/// Returns true for the name of what holds places in a list: in `pagination`, a `token` is one.
pub(super) fn is_of_pages(name: &str) -> bool {
    PATTERNS.page.is_match(&phrase(name))
}

/// Returns the words of a name with a space before and after each.
fn phrase(name: &str) -> String {
    format!(" {} ", normalized_words(name).join(" "))
}

/// Returns the words of a name without trailing digits, with a common spelling for `Wi-Fi`, `key-pickup`
/// and the like. Characters without width do not count.
pub(super) fn normalized_words(name: &str) -> Vec<String> {
    let is_invisible = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}');
    let mut words = if name.is_ascii() {
        portion_text::names::split_name(name)
    } else {
        portion_text::names::split_name(&name.replace(is_invisible, ""))
    };
    for word in &mut words {
        if !matches!(word.as_str(), "cvv2" | "2fa") {
            word.truncate(word.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        }
        if matches!(word.as_str(), "wlan" | "wireless") {
            "wifi".clone_into(word);
        }
    }
    words.retain(|word| !word.is_empty());
    let mut at = 0;
    while at + 1 < words.len() {
        let pair = (words[at].as_str(), words[at + 1].as_str());
        if JOINED_WORDS.split(' ').any(|joined| joined.split_once('-') == Some(pair)) {
            let second = words.remove(at + 1);
            words[at].push_str(&second);
        } else {
            at += 1;
        }
    }
    words
}

/// Returns true for the name of a secret that is written in sentences: `Access instructions`.
pub(super) fn is_phrase_name(name: &str) -> bool {
    let name = name.to_lowercase();
    PHRASE_WORDS.split(' ').any(|word| name.ends_with(word))
}

#[cfg(test)]
mod tests {
    use super::{SecretKind, secret_kind};

    fn check(expect: bool, names: &str) {
        for name in names.split_whitespace() {
            let is_certain = secret_kind(name)
                .is_some_and(|kind| !matches!(kind, SecretKind::Doubtful | SecretKind::Pass));
            assert_eq!(is_certain, expect, "{name}");
        }
    }

    #[test]
    fn secret_names_are_recognized() {
        check(
            true,
            "password Password userPassword PASSWD db_pwd secret clientSecret client_secret client-secret token accessToken \
             access_token X-Auth-Token apiKey api_key APIKey apikey accessKey AWSSecretAccessKey privateKey doorCode \
             doorSecurityCode door_code wifiPassword wifipassword pin pinCode pin_code authorization Proxy-Authorization \
             credential credentials cookie Set-Cookie session_token ssn cvv cvv2 cardNumber card_number connectionString \
             password2 api_keys privateKeys refreshTokens idToken csrfToken passphrase DB_PASS MYSQL_PASS smtp_pass dbPass \
             adminPw rootpw userpass api/key API/Key passPhrase passKey psk PresharedKey pre-shared-key client-key-data _auth \
             accountKey subscriptionKey connStr creds recovery_key mnemonic mfa_code ansible_become_pass /prod/db/password \
             config/db/secret config/prod/apiKey /prod/db/SECRET_KEY secret/db#accessKey network_key one-time-code pass\u{200b}word",
        );
    }

    #[test]
    fn entry_secrets_are_recognized() {
        check(
            true,
            "doorCode doorCodeVendor doorCodeInstruction door_code_instructions keyPickup key_pickup key-pick-up \
             keyPickupAddress keysHandover keyHandover wifiUsername wifiPassword wifi_user_name wi-fi_password Wi-FiUsername \
             lockCode lockboxCode lock_box_code gateCode gate_instructions alarmCode accessCode access_instructions \
             entryInstructions buzzerCode intercom_code padlockCombination safeCombination lockCombination smartLockCode \
             garageCode wlanKey wirelessPassword lockboxInstructions keySafeCode keypadCode entrance_code wifiPass \
             checkInInstructions check_in_instructions checkinInstruction selfCheckInInstructions arrivalInstructions \
             keyLocation key_location lockboxLocation key_box_location",
        );
        check(
            false,
            "keyPickupFee key_pickup_fee keyPickupTime doorCodeUpdatedAt doorCodeId hasDoorCode postcode postCode zipcode \
             countryCode keyCode keyCodes keyCombination keyCollection gateway gateId lockVersion lock lockTime accessType accessibility doorType \
             wifi hasWifi wifiAvailable wifiSpeed instruction specialInstruction cleaningInstruction instructions pickup \
             pickupTime pickupLocation colorCode alarm entryDate entries keyword safeMode buildingName buildingNumber \
             requiresKeyPickup doorCodeCount checkInDate checkIn check_in_time arrivalDate doorLocation keyLocations",
        );
    }

    #[test]
    fn similar_names_are_not_secrets() {
        check(
            false,
            "tokens token_count max_tokens maxTokens prompt_tokens totalTokens postalCode countryCode country_code zipCode \
             nextPageToken page_token pageToken continuation_token NextToken syncToken passwordUpdatedAt password_updated_at \
             hasPassword has_password isSecret keyboard key keys statusCode status_code code secretary tokenizer tokenType \
             token_type expires_in accessKeyId cookieConsent cookie_policy pinned spinning promoCode eos_token pagination_token passwordPolicy \
             passwordResetUrl number string connection card lockTime id a pass tests_pass first_pass bypass compass \
             proxy_pass user_pass_regex boardingPass render_pass db_pass_count pw /api/key v1/api/key text/token /oauth2/token",
        );
    }
}
