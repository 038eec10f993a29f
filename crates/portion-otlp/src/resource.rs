//! Who sends: the service, which operators may name otherwise by the variables of OpenTelemetry.

use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{IdGenerator as _, RandomIdGenerator};

/// What the SDK calls a service whose name nobody told.
const UNKNOWN: &str = "unknown_service";

/// Who sends.
pub(crate) fn resource() -> Resource {
    let said = Resource::builder().build();
    let instance = RandomIdGenerator::default().new_trace_id().to_bytes();
    let usual: [(&'static str, Value); 3] = [
        ("service.name", "portion".into()),
        ("service.version", env!("CARGO_PKG_VERSION").into()),
        ("service.instance.id", uuid(u128::from_be_bytes(instance)).into()),
    ];
    let unsaid = usual.into_iter().filter(|(name, _)| {
        let value = said.get(&(*name).into());
        value.is_none_or(|value| *name == "service.name" && value.as_str().starts_with(UNKNOWN))
    });
    let unsaid: Vec<KeyValue> = unsaid.map(|(name, value)| KeyValue::new(name, value)).collect();
    Resource::builder().with_attributes(unsaid).build()
}

/// A random UUID of version 4, <https://www.rfc-editor.org/rfc/rfc9562#section-5.4>.
fn uuid(random: u128) -> String {
    let versioned = random & !(0xf << 76) & !(0b11 << 62) | 4 << 76 | 0b10 << 62;
    let hex = format!("{versioned:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn a_uuid_says_its_version_and_variant() {
        assert_eq!(uuid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
