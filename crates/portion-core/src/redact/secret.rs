//! Recognizes the names of secrets by their words: `wifiPassword`, `session_token`, `door-code`.

/// Words that make every name containing them a secret.
const SECRET_WORDS: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "authorization",
    "cookie",
    "cookies",
    "ssn",
    "cvv",
    "cvc",
    "cvv2",
    "pin",
    "bearer",
    "jwt",
    "otp",
    "totp",
];
/// Pairs of adjacent words that make a name a secret.
const SECRET_PAIRS: &[(&[&str], &str)] = &[
    (
        &[
            "api",
            "access",
            "private",
            "secret",
            "signing",
            "encryption",
            "ssh",
            "auth",
            "shared",
            "master",
            "service",
            "wifi",
            "license",
        ],
        "key",
    ),
    (
        &[
            "door",
            "security",
            "access",
            "entry",
            "gate",
            "lock",
            "lockbox",
            "keybox",
            "alarm",
            "pin",
            "keypad",
            "verification",
            "auth",
            "authorization",
            "recovery",
            "backup",
            "wifi",
            "building",
        ],
        "code",
    ),
    (&["card", "cc"], "number"),
    (&["connection", "conn"], "string"),
    (&["access", "refresh", "auth", "api", "device"], "tokens"),
];
/// Words before `pass` and `pw` that make a secret. Other passes are results of tests, steps or tickets.
const PASSWORD_OWNERS: &[&str] = &[
    "account",
    "admin",
    "amqp",
    "auth",
    "database",
    "db",
    "email",
    "ftp",
    "http",
    "imap",
    "jdbc",
    "keystore",
    "ldap",
    "login",
    "mail",
    "mongo",
    "mongodb",
    "mqtt",
    "mssql",
    "mysql",
    "oracle",
    "pg",
    "pgsql",
    "pop",
    "postgres",
    "postgresql",
    "rabbitmq",
    "redis",
    "root",
    "samba",
    "sftp",
    "smb",
    "smtp",
    "sql",
    "ssh",
    "ssl",
    "sudo",
    "svc",
    "truststore",
    "user",
    "usr",
    "vnc",
    "vpn",
];
/// Ends of names that are written as one word.
const SECRET_SUFFIXES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "kennwort",
    "contraseña",
    "wachtwoord",
    "secret",
    "apikey",
    "apikeys",
    "accesskey",
    "privatekey",
    "secretkey",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "sessiontoken",
    "idtoken",
    "doorcode",
    "securitycode",
    "pincode",
    "cardnumber",
    "connectionstring",
];
/// Words for an access to a building, and the words after them that make it a secret: information for a
/// guest alone, such as `keyPickup` or `gate_instructions`.
const ENTRY_NOUNS: &[&str] = &[
    "access",
    "alarm",
    "building",
    "buzzer",
    "door",
    "elevator",
    "entrance",
    "entry",
    "garage",
    "gate",
    "intercom",
    "key",
    "keybox",
    "keypad",
    "keys",
    "keysafe",
    "lock",
    "lockbox",
    "padlock",
    "safe",
    "smartlock",
];
const ENTRY_SECRETS: &[&str] = &[
    "code",
    "codes",
    "collection",
    "combination",
    "combo",
    "handover",
    "instruction",
    "instructions",
    "keycode",
    "location",
    "passcode",
    "pickup",
    "pin",
];
/// Words that make a secret after `wifi`.
const WIFI_SECRETS: &[&str] =
    &["code", "credentials", "key", "login", "pass", "password", "user", "username"];
/// Last words of names that describe an entry and let nobody in: `keyPickupFee`, `doorCodeUpdatedOn`.
const ENTRY_METADATA_WORDS: &[&str] = &[
    "amount", "at", "cost", "count", "date", "enabled", "expiry", "expires", "fee", "fees", "id", "ids",
    "length", "on", "policy", "price", "required", "status", "tax", "time", "type", "until", "updated",
    "valid",
];
/// Names like those of an entry that software uses for other things: the code of a pressed key,
/// instructions of a processor.
const ENTRY_EXCEPTIONS: &[&str] =
    &["key code", "key codes", "key collection", "key combination", "key combo", "lock instruction"];
/// Words that make a secret only after words for keys.
const KEY_ONLY_WORDS: &[&str] = &["collection", "handover", "location", "pickup"];
/// Words for an arrival, whose instructions tell how to get in.
const ARRIVAL_NOUNS: &[&str] = &["arrival", "checkin"];
/// Last words of names that describe a secret without containing it.
const METADATA_WORDS: &[&str] = &[
    "at",
    "date",
    "time",
    "age",
    "updated",
    "expires",
    "expiry",
    "expiration",
    "expired",
    "in",
    "ttl",
    "length",
    "len",
    "count",
    "policy",
    "type",
    "kind",
    "id",
    "ids",
    "name",
    "url",
    "uri",
    "endpoint",
    "required",
    "enabled",
    "set",
    "valid",
    "strength",
    "status",
    "limit",
    "limits",
    "usage",
    "used",
    "version",
    "format",
    "field",
    "label",
    "consent",
    "banner",
    "domain",
    "path",
    "address",
    "hint",
    "on",
    "fee",
    "price",
    "cost",
];
/// First words of names of conditions and counts.
const QUESTION_WORDS: &[&str] =
    &["has", "is", "max", "min", "num", "total", "requires", "require", "needs", "can", "use", "show"];
/// Words beside which `token` means a place in a list or a piece of text.
const NON_SECRET_TOKEN_WORDS: &[&str] = &[
    "bucket",
    "ring",
    "page",
    "next",
    "prev",
    "previous",
    "continuation",
    "cursor",
    "sync",
    "delta",
    "progress",
    "change",
    "resume",
    "scroll",
    "start",
    "eos",
    "bos",
    "pad",
    "unk",
    "cls",
    "sep",
    "mask",
    "stop",
    "special",
];

/// Returns true if a member of this name is treated as a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    // No name of a secret is longer. Keys that are not names, like paths of URLs, are skipped.
    if name.len() > 128 || name.len() < 3 || name.contains('/') && !is_pair_with_slash(name) {
        return false;
    }
    let words = normalized_words(name);
    let is = |word: &str, among: &[&str]| among.contains(&word);
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return false };
    if is_entry_secret(&words) {
        return true;
    }
    if words.len() > 1 && (is(last, METADATA_WORDS) || is(first, QUESTION_WORDS)) {
        return false;
    }
    let token = words.iter().any(|word| word == "token")
        && !words.iter().any(|word| is(word, NON_SECRET_TOKEN_WORDS));
    let pair = |pair: &[String]| {
        SECRET_PAIRS.iter().any(|(firsts, second)| {
            is(&pair[0], firsts)
                && (pair[1] == *second
                    || matches!((*second, pair[1].as_str()), ("code", "codes") | ("key", "keys")))
        })
    };
    token
        || words
            .iter()
            .any(|word| is(word, SECRET_WORDS) || SECRET_SUFFIXES.iter().any(|end| word.ends_with(end)))
        || words.windows(2).any(pair)
        || is_password_of_owner(&words)
}

/// Returns true for two words of a name with a slash between them: `api/key`.
fn is_pair_with_slash(name: &str) -> bool {
    let is_pair = |(first, second): (&str, &str)| {
        SECRET_PAIRS.iter().any(|(firsts, last)| *last == second && firsts.contains(&first))
    };
    name.to_lowercase().split_once('/').is_some_and(is_pair)
}

/// Returns true for words such as `db pass`, `adminpw`.
fn is_password_of_owner(words: &[String]) -> bool {
    let is_owner = |word: &str| PASSWORD_OWNERS.contains(&word);
    let is_pair = match words {
        [.., owner, last] => is_owner(owner) && matches!(last.as_str(), "pass" | "pw"),
        _ => false,
    };
    let is_joined =
        |word: &String| ["pass", "pw"].iter().any(|end| word.strip_suffix(end).is_some_and(is_owner));
    is_pair || words.last().is_some_and(is_joined)
}

/// Returns true if all words of a name belong to the names of secrets: `password`, `access_token`, not `secret_x`.
pub(super) fn is_plain_secret_name(name: &str) -> bool {
    let is_known = |word: &String| {
        let is = |among: &[&str]| among.contains(&word.as_str());
        let is_of_pair = |(firsts, second): &(&[&str], &str)| is(firsts) || word == second;
        is(SECRET_WORDS)
            || is(SECRET_SUFFIXES)
            || is(ENTRY_NOUNS)
            || is(ENTRY_SECRETS)
            || matches!(word.as_str(), "token" | "tokens" | "wifi")
            || SECRET_PAIRS.iter().any(is_of_pair)
    };
    normalized_words(name).iter().all(is_known)
}

/// Returns true if words name an access to a building or its network.
fn is_entry_secret(words: &[String]) -> bool {
    let is = |word: &str, among: &[&str]| among.contains(&word);
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return false };
    if is(first, QUESTION_WORDS) || is(last, ENTRY_METADATA_WORDS) {
        return false;
    }
    words.windows(2).any(|pair| {
        let (thing, what) = (pair[0].as_str(), pair[1].as_str());
        let entry = is(thing, ENTRY_NOUNS)
            && is(what, ENTRY_SECRETS)
            && !ENTRY_EXCEPTIONS.contains(&&*format!("{thing} {what}"));
        let holds_keys = thing.starts_with("key") || thing == "lockbox";
        let entry = entry && (holds_keys || !is(what, KEY_ONLY_WORDS));
        let arrival = is(thing, ARRIVAL_NOUNS) && matches!(what, "instruction" | "instructions");
        entry || arrival || thing == "wifi" && is(what, WIFI_SECRETS)
    })
}

/// Returns the words of a name without trailing digits, with a common spelling for `Wi-Fi`, `key-pickup`
/// and the like.
fn normalized_words(name: &str) -> Vec<String> {
    let mut words = portion_text::name_words::split_name(name);
    for word in &mut words {
        if !matches!(word.as_str(), "cvv2") {
            word.truncate(word.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        }
    }
    words.retain(|word| !word.is_empty());
    let mut at = 0;
    while at + 1 < words.len() {
        let joined = match (words[at].as_str(), words[at + 1].as_str()) {
            ("wi", "fi") => "wifi",
            ("wlan" | "wireless", _) => {
                words[at] = "wifi".into();
                at += 1;
                continue;
            }
            ("check", "in") => "checkin",
            ("pick", "up") => "pickup",
            ("hand", "over") => "handover",
            ("lock", "box") => "lockbox",
            ("key", "box") => "keybox",
            ("key", "safe") => "keysafe",
            ("key", "pad") => "keypad",
            _ => {
                at += 1;
                continue;
            }
        };
        words[at] = joined.into();
        words.remove(at + 1);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::is_secret_name;

    fn check(expect: bool, names: &str) {
        for name in names.split_whitespace() {
            assert_eq!(is_secret_name(name), expect, "{name}");
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
             adminPw rootpw userpass api/key API/Key",
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
             token_type expires_in accessKeyId cookieConsent cookie_policy pinned spinning promoCode eos_token passwordPolicy \
             passwordResetUrl number string connection card lockTime id a pass tests_pass first_pass bypass compass \
             proxy_pass user_pass_regex boardingPass render_pass db_pass_count pw /api/key v1/api/key text/token /oauth2/token",
        );
    }
}
