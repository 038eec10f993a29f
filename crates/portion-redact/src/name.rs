//! Recognizes the names of secrets by their words: `wifiPassword`, `session_token`, `door-code`.

use std::sync::LazyLock;

use regex::Regex;

use super::pattern::regex;
use super::prefilter::may_hold;

/// Kind of the value under the name of a secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SecretKind {
    /// A password, a key or a code.
    #[default]
    Password,
    /// A token: made by a machine, so no word of a language. Words of texts are called tokens, too.
    Token,
    /// A token beside facts about words: a word of a text, unless it looks like none.
    Word,
    /// The user and the password in base64, as Docker stores them under `auth`.
    Basic,
    /// Sentences that let somebody in: instructions, the place of a key.
    Instructions,
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
         onetime wifi building mfa otp 2fa factor unlock pairing sms",
        "codes?",
    ),
    ("key", "contents?"),
    ("card cc", "number"),
    ("connection conn", "(?:string|strs?)"),
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
/// Ends of names that are written as one word.
const SECRET_SUFFIXES: &str = "password passwd passphrase passwort kennwort contraseña wachtwoord secret apikey apikeys accesskey \
    privatekey secretkey accountkey accesstoken refreshtoken authtoken sessiontoken idtoken apitoken doorcode securitycode pincode \
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
    check checks match result results";
/// First words of names of conditions, counts and actions.
const QUESTION_WORDS: &str = "has is max min num total requires require needs can use show no forgot";
/// Words for places in a list.
const PAGE_WORDS: &str = "page pages paging pagination next prev previous continuation cursor";
/// Further words beside which `token` means a place in a list or a piece of text.
const NON_SECRET_TOKEN_WORDS: &str = "bucket ring sync delta progress change resume \
    scroll start eos bos pad unk cls sep mask stop special end text word map res response based stream tree span parser lexer";
/// Words that are often written as two.
const JOINED_WORDS: &str = "wi-fi check-in pick-up hand-over lock-box key-box key-safe key-pad pass-phrase pass-key pass-code pass-word pre-shared one-time";

/// Patterns for the words of a name, with a space before and after each.
struct NamePatterns {
    entry: Regex,
    no_entry: Regex,
    instructions: Regex,
    metadata: Regex,
    password: Regex,
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
    NamePatterns {
        entry: regex(&format!(
            " (?:{nouns} {entry}|{keys} (?:{entry}|{key}|collection)|key {key}|lock {lock}|(?:arrival|checkin) instructions?|wifi {wifi}) "
        )),
        no_entry: regex(&format!("^ {questions} | {} $", any(ENTRY_METADATA_WORDS))),
        instructions: regex(&format!(" {} ", any(INSTRUCTION_WORDS))),
        metadata: regex(&format!("^ {questions} | {} $", any(METADATA_WORDS))),
        password: regex(&format!(
            "{suffixes} | (?:{secrets}|{pairs}) | {owners} ?(?:pass|pw) $| {AMBIGUOUS_WORDS}"
        )),
        pair: regex(&format!("^ (?:{pairs}) $")),
        token: regex(" (?:auth)?token "),
        page: regex(&format!(" {page} ")),
        no_token: regex(&format!(" (?:{page}|{tokens}) ")),
        plain: regex(&format!(
            "^(?: (?:{secrets}|{suffixes}|{parts}{nouns}|{entry}|{keys}|{key}|lock|collection|pin|cookies?|tokens?|wifi))+ $"
        )),
    }
});

/// Returns the kind of secret that a member of this name holds; `None` if it is no name of a secret.
pub(super) fn secret_kind(name: &str) -> Option<SecretKind> {
    // No name of a secret is longer, or has none of the parts.
    if name.len() > 128 || name.len() < 3 || !may_hold(name) {
        return None;
    }
    if let Some((before, last)) = name.rsplit_once('/') {
        return kind_of_path(before, last);
    }
    if matches!(name, "_auth" | "auth") {
        return Some(if name == "auth" { SecretKind::Basic } else { SecretKind::Password });
    }
    let (words, names) = (phrase(name), &*PATTERNS);
    if names.entry.is_match(&words) && !names.no_entry.is_match(&words) {
        let is_told = names.instructions.is_match(&words);
        return Some(if is_told { SecretKind::Instructions } else { SecretKind::Password });
    }
    if words.matches(' ').count() > 2 && names.metadata.is_match(&words) {
        return None;
    }
    let is_token = || names.token.is_match(&words) && !names.no_token.is_match(&words);
    let is_password = names.password.is_match(&words);
    if is_password { Some(SecretKind::Password) } else { is_token().then_some(SecretKind::Token) }
}

/// Returns the kind of a secret whose name is written as a path with slashes: `/prod/db/password`. Other keys of paths, like
/// those of URLs, are no names; `api/key` is one of two words.
fn kind_of_path(before: &str, last: &str) -> Option<SecretKind> {
    let is_pair = || !before.contains('/') && PATTERNS.pair.is_match(&phrase(&format!("{before}_{last}")));
    let is_password = || {
        let first = normalized_words(last).into_iter().next().unwrap_or_default();
        !matches!(first.as_str(), "cookie" | "cookies" | "jwt" | "pin" | "bearer")
            && secret_kind(last) == Some(SecretKind::Password)
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

#[cfg(test)]
mod tests {
    use super::secret_kind;

    fn check(expect: bool, names: &str) {
        for name in names.split_whitespace() {
            assert_eq!(secret_kind(name).is_some(), expect, "{name}");
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
