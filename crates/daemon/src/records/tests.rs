//! The handle of the store's thread: what must not wait there.

use std::time::Duration;

use proto::audit::AuditVerdict;
use proto::printable::is_hidden;

use super::store_thread::AuditQuery;
use super::*;

/// Far more than a loaded machine needs.
const TIMEOUT: Duration = Duration::from_secs(60);

fn launch_spec(number: u64) -> Change {
    audit(AuditNote {
        caller: Some(Caller::Person),
        via: None,
        verb: "write",
        target: Some("p_aaaaaaaa".to_owned()),
        decision: "allowed".to_owned(),
        detail: format!("{number} bytes"),
    })
}

/// Waits for something, and fails when it does not come.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let Ok(come) = tokio::time::timeout(TIMEOUT, future).await else { panic!("{what} does not come") };
    come
}

#[test]
fn f11_a_record_is_acknowledged_while_somebody_is_about_to_walk_a_long_chain() {
    let directory = tempfile::tempdir().unwrap();
    let mut store = Store::open(&directory.path().join("state.db")).unwrap();
    store.apply(&(0..5000).map(launch_spec).collect::<Vec<_>>()).unwrap();
    let records = Records::start(store, Warnings::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let request = Audit { since: 0, limit: Some(1), verify: true };
        let (reply, look) = oneshot::channel();
        soon("the queue", records.post(StoreJob::Audit(request, reply))).await;
        let look = soon("a look", look).await.unwrap().unwrap();
        assert!(matches!(look, AuditQuery::Beside(..)), "the store's thread walks no chain itself");
        // The chain was not checked yet, and the thread is free.
        soon("the acknowledgement", records.keep(vec![launch_spec(5000)], Otherwise::Retry)).await.unwrap();
        let page = pages::page(look, &request).unwrap();
        assert_eq!(page.rows[0].detail, "5000 bytes");
        let verdict = page.verified.unwrap();
        assert!(matches!(verdict, AuditVerdict::Intact { first: 1, rows: 5001, .. }), "{verdict:?}");
        soon("the end", records.close()).await;
    });
}

#[test]
fn f11_nothing_in_a_row_of_the_audit_log_is_hidden() {
    let hidden: String = ('\0'..=char::MAX).filter(|c| c.is_control() || is_hidden(*c)).collect();
    let Change::Audit(row) = audit(AuditNote {
        caller: Some(Caller::Person),
        via: Some(hidden.clone()),
        verb: "write",
        target: Some(hidden.clone()),
        decision: hidden.clone(),
        detail: hidden,
    }) else {
        panic!("not a row")
    };
    for text in [row.caller, row.target.unwrap(), row.decision, row.detail] {
        assert_eq!(text.chars().find(|c| c.is_control() || is_hidden(*c)), None);
        assert!(text.contains("\\u{202e}") && text.contains("\\u{200b}") && text.contains("\\u{e0041}"));
    }
}

/// The emulator knows no protocol and has a copy of the rule.
#[test]
fn the_emulator_and_the_protocol_hide_the_same_characters() {
    assert_eq!(('\0'..=char::MAX).find(|c| term::is_hidden(*c) != is_hidden(*c)), None);
}
