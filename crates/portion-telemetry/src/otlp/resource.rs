//! Resource that describes this service. Operators can change it by the OpenTelemetry variables.

use std::borrow::Cow;

use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{IdGenerator as _, RandomIdGenerator};
use percent_encoding::percent_decode_str;

/// Returns the resource of this process.
pub(crate) fn resource() -> Resource {
    let instance = RandomIdGenerator::default().new_trace_id().to_bytes();
    let defaults = [
        ("service.name", "portion".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", uuid(u128::from_be_bytes(instance))),
    ];
    let defaults = defaults.map(|(name, value)| (name.to_owned(), value));
    let all = defaults.into_iter().chain(environment_attributes(|name| std::env::var(name).ok()));
    // The SDK does not decode values, and lets its own service name win over the resource attributes.
    Resource::builder().with_attributes(all.map(|(name, value)| KeyValue::new(name, value))).build()
}

/// Returns the attributes from environment variables; later entries win:
/// <https://opentelemetry.io/docs/specs/otel/resource/sdk/#specifying-resource-information-via-an-environment-variable>.
fn environment_attributes(variable: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let attributes = variable("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let pairs = attributes.split(',').filter_map(|pair| pair.split_once('='));
    let mut found: Vec<_> =
        pairs.map(|(name, value)| (name.trim().to_owned(), percent_decode(value.trim()))).collect();
    let name = variable("OTEL_SERVICE_NAME").filter(|name| !name.is_empty());
    found.extend(name.map(|name| ("service.name".to_owned(), name)));
    found
}

/// Decodes percent escapes such as `%2C`. Returns the text unchanged if the result is not UTF-8.
fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8().map_or_else(|_| text.to_owned(), Cow::into_owned)
}

/// Formats a random UUID of version 4, <https://www.rfc-editor.org/rfc/rfc9562#section-5.4>.
fn uuid(random: u128) -> String {
    let versioned = random & !(0xf << 76) & !(0b11 << 62) | 4 << 76 | 0b10 << 62;
    let hex = format!("{versioned:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::{environment_attributes, uuid};

    #[test]
    fn what_is_said_of_the_service_is_read_as_it_is_meant() {
        let check = |attributes: &str, name: &str, expect: &[(&str, &str)]| {
            let found = environment_attributes(|variable| match variable {
                "OTEL_RESOURCE_ATTRIBUTES" => Some(attributes.to_owned()),
                _ => Some(name.to_owned()),
            });
            let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(found, expect);
        };
        check("", "", &[]);
        check(
            "service.name=there,x=1",
            "here",
            &[("service.name", "there"), ("x", "1"), ("service.name", "here")],
        );
        check(" a = 1%2C2%3d3 ,b", "", &[("a", "1,2=3")]);
        check("a=%C3%BC,b=%ff,c=5%,d=%zz%", "", &[("a", "ü"), ("b", "%ff"), ("c", "5%"), ("d", "%zz%")]);
    }

    #[test]
    fn a_uuid_says_its_version_and_variant() {
        assert_eq!(uuid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
