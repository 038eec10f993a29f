//! Ranks fields by names and data alone, on records like those of well-known APIs.

use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{FieldRank, ListProfile, Structure, capture};

/// Ranks the fields of twelve records made from a template, in which `$i` counts the records, `$2` and `$3`
/// alternate, and `$f` is a fraction. Compares the fields that are always shown, and the first important
/// ones, with the expected ones.
fn check(template: &str, always: &str, salient: &str) {
    let record = |i: usize| {
        let template = template.replace("$i", &format!("{}", 1_000 + i * 7));
        let template = template.replace("$2", ["a", "b"][i % 2]).replace("$3", ["x", "y", "z"][i % 3]);
        template.replace("$f", &format!("{}.{}", 10 + i * 3, 11 + i))
    };
    let list = format!("[{}]", (0..12).map(record).collect::<Vec<_>>().join(","));
    let block = Block::new("/content/0/text", Content::Text(list.clone()));
    let snapshot = capture(Payload { blocks: vec![block], ..Payload::default() });
    let Some(Structure::List(list)) = snapshot.parts()[0].indexed_text().map(|subject| &subject.structure)
    else {
        panic!("no list: {list}")
    };
    let of = |fits: &dyn Fn(FieldRank) -> bool| -> Vec<&str> {
        list.profile.fields.iter().filter(|field| fits(field.rank)).map(|field| field.path.as_str()).collect()
    };
    assert_eq!(of(&|rank| rank <= FieldRank::Status).join(" "), always, "{:?}", list.profile.fields);
    let first: Vec<&str> = of(&|rank| rank == FieldRank::Important);
    let wanted = salient.split_whitespace().count();
    assert_eq!(first[..wanted.min(first.len())].join(" "), salient, "{:?}", list.profile.fields);
}

#[test]
fn bookings() {
    check(
        r#"{"listingMapId":"L$2","channelName":"$3","id":$i,"guestName":"Guest $i","isStarred":0,"status":"$2",
            "previousArrivalDate":"2024-01-0$i","arrivalDate":"2024-02-$i","totalPrice":$f,"hostNote":null,"nights":$i}"#,
        "id guestName channelName status",
        "totalPrice nights arrivalDate previousArrivalDate",
    );
}

#[test]
fn schools() {
    check(
        r#"{"year":2022,"ncessch":"0600$i","leaid":"06$2","school_name":"School $i","lea_name":"Unified $2","street_mailing":"$i Main",
            "latitude":$f,"school_level":"$2","school_status":"$3","enrollment":$i,"csa":"$2"}"#,
        "ncessch school_name lea_name school_status",
        "enrollment school_level",
    );
}

#[test]
fn issues() {
    check(
        r#"{"url":"https://api.example.org/issues/$i","id":$i,"node_id":"MDU6SXNzdWU$i","number":$i,"title":"Issue $i",
            "user":{"login":"u$2","id":7,"avatar_url":"https://example.org/u"},"labels":[{"name":"bug"}],"state":"$2",
            "comments":$i,"created_at":"2024-05-01T10:00:$i","body":null}"#,
        "id title user.login state",
        "created_at number comments",
    );
}

#[test]
fn issues_with_a_summary() {
    check(
        r#"{"id":"$i","key":"P-$i","summary":"Cannot $i","status":{"name":"$2"},"created":"2024-05-01T10:00:$i"}"#,
        "id summary status.name",
        "created key",
    );
}

#[test]
fn series_are_told_apart_by_their_labels() {
    check(
        r#"{"metric":{"__name__":"cpu","instance":"10.0.0.$i","mode":"$2"},"values":[[1722900000,"$f"]]}"#,
        "metric.instance metric.mode metric.__name__",
        "",
    );
}

#[test]
fn records_without_a_name_have_one_that_is_deeper() {
    check(
        r#"{"id":"p-$i","properties":{"Status":{"name":"$2"},"Points":{"number":$i}},"archived":false}"#,
        "id properties.Status.name",
        "",
    );
}

#[test]
fn objects_of_a_cluster() {
    check(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-$i","namespace":"$2","uid":"6c0$i-aa",
            "creationTimestamp":"2024-05-01T10:00:00Z","labels":{"app":"web"}},"spec":{"nodeName":"n-$3"},
            "status":{"phase":"$2","podIP":"10.0.0.$i","restarts":$i}}"#,
        "metadata.uid metadata.name spec.nodeName status.phase",
        "metadata.namespace status.restarts",
    );
}

#[test]
fn charges() {
    check(
        r#"{"id":"ch_$i","object":"charge","amount":$i,"amount_due":$i,"balance_transaction":"txn_$i","created":17145588$i,
            "currency":"usd","customer":"cus_$2","livemode":false,"payment_method_details":{"type":"$3"},"status":"$2"}"#,
        "id status",
        "amount created amount_due",
    );
}

#[test]
fn tickets() {
    check(
        r#"{"expand":"a,b","id":"$i","self":"https://example.org/rest/$i","key":"PRJ-$i","fields":{"summary":"Crash $i",
            "priority":{"name":"$2"},"status":{"name":"$3"},"assignee":{"displayName":"P $2"},"updated":"2024-05-0$2"}}"#,
        "id fields.summary",
        "key fields.updated fields.priority.name fields.status.name",
    );
}

#[test]
fn rows_of_a_database_and_instances() {
    check(
        r#"{"CUSTOMER_ID":"c$2","INVOICE_ID":$i,"INVOICE_DATE":"2024-05-$i","BILLING_CITY":"$3","TOTAL":$f}"#,
        "INVOICE_ID",
        "TOTAL INVOICE_DATE BILLING_CITY",
    );
    check(
        r#"{"AmiLaunchIndex":0,"InstanceId":"i-0$i","InstanceType":"$2","LaunchTime":"2024-05-$i","State":{"Code":16,"Name":"$3"}}"#,
        "InstanceId State.Name",
        "InstanceType LaunchTime",
    );
}

#[test]
fn without_telling_names_data_decides() {
    check(r#"{"ratio":$f,"text":"a sentence of $i words","tag":"t-$i","x":"$2"}"#, "tag", "");
    check(r#"{"homepage":"https://example.org/$i","price":$i,"x":"$2"}"#, "", "price");
    check(r#"{"Name":"Car $2","Weight_in_lbs":$i,"Year":"$3"}"#, "Name", "");
}

#[test]
fn a_single_record_is_ranked_by_names() {
    let fields = ListProfile::record_fields(
        r#"{"note":"n","total":5,"uuid":"u","guest":{"name":"A"},"state":"open"}"#,
    );
    let names: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
    assert_eq!(names, ["uuid", "guest.name", "state", "total", "note"]);
}
