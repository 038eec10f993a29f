//! Header fields that tell the upstream about the client: `X-Forwarded-For`, `X-Forwarded-Host`, `X-Forwarded-Proto`.
//!
//! A proxy on this machine may have set them; its values are kept, and the list of addresses grows. Values from other
//! machines are replaced, because anyone can write them.

use std::net::IpAddr;

use http::header::{FORWARDED, HeaderMap, HeaderName, HeaderValue};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const OTHERS: [HeaderName; 4] = [
    HeaderName::from_static("x-forwarded-port"),
    HeaderName::from_static("x-forwarded-prefix"),
    HeaderName::from_static("x-real-ip"),
    FORWARDED,
];

/// Sets the fields. `host`: the host that the client asked for.
pub(super) fn set_fields(headers: &mut HeaderMap, client: Option<IpAddr>, host: Option<HeaderValue>) {
    if client.is_some_and(|address| !address.to_canonical().is_loopback()) {
        for name in OTHERS.into_iter().chain([FORWARDED_FOR, FORWARDED_HOST, FORWARDED_PROTO]) {
            headers.remove(name);
        }
    }
    if let Some(host) = host {
        headers.entry(FORWARDED_HOST).or_insert(host);
    }
    let Some(address) = client else { return };
    headers.entry(FORWARDED_PROTO).or_insert(HeaderValue::from_static("http"));
    let before = headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
    let addresses: Vec<String> =
        before.map(str::to_owned).chain([address.to_canonical().to_string()]).collect();
    if let Ok(value) = HeaderValue::from_str(&addresses.join(", ")) {
        headers.insert(FORWARDED_FOR, value);
    }
}

#[cfg(test)]
mod tests {
    use http::header::{HeaderMap, HeaderName, HeaderValue};

    use super::set_fields;

    fn check(given: &[(&'static str, &'static str)], client: &str, expect: &[(&str, &str)]) {
        let fields = given
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let mut headers: HeaderMap = fields.collect();
        let client = client.parse().ok();
        set_fields(&mut headers, client, Some(HeaderValue::from_static("api.example")));
        let mut found: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().expect("text"))).collect();
        found.sort_unstable();
        assert_eq!(found, expect, "{given:?}");
    }

    #[test]
    fn the_client_is_told_to_the_upstream() {
        let own = |address| {
            [("x-forwarded-for", address), ("x-forwarded-host", "api.example"), ("x-forwarded-proto", "http")]
        };
        check(&[], "127.0.0.1", &own("127.0.0.1"));
        check(&[], "::ffff:192.0.2.7", &own("192.0.2.7"));
        check(&[], "", &[("x-forwarded-host", "api.example")]);
    }

    #[test]
    fn fields_of_a_proxy_on_this_machine_are_kept_and_others_replaced() {
        let given = [
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-host", "shop.example"),
            ("x-forwarded-proto", "https"),
        ];
        check(
            &given,
            "127.0.0.1",
            &[
                ("x-forwarded-for", "192.0.2.1, 127.0.0.1"),
                ("x-forwarded-host", "shop.example"),
                ("x-forwarded-proto", "https"),
            ],
        );
        let spoofed =
            [("x-forwarded-for", "10.0.0.1"), ("x-real-ip", "10.0.0.1"), ("forwarded", "for=10.0.0.1")];
        check(
            &spoofed,
            "198.51.100.9",
            &[
                ("x-forwarded-for", "198.51.100.9"),
                ("x-forwarded-host", "api.example"),
                ("x-forwarded-proto", "http"),
            ],
        );
    }
}
