//! Signing in and out, and everything about devices, tokens and links.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use axum::{Extension, Json};
use proto::ErrorCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::NewIdentity;
use crate::clock::{DAY, MINUTE, now_ms};
use crate::gate;
use crate::gateway::{Gateway, Shared};
use crate::identity::{AccessIdentity, AccessRole, IdentityKind, Scope};
use crate::pairing::{CodePurpose, CodeRefusal};
use crate::problem::Problem;
use crate::secrets::Secret;
use crate::verb_call::read_object;

/// The longest label.
const MAX_LABEL: usize = 64;
/// The longest life of a link.
const MAX_LINK_LIFE: u64 = 7 * DAY;

#[derive(Debug, Deserialize)]
struct SignIn {
    code: Option<String>,
    link: Option<String>,
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct Mint {
    #[serde(default)]
    name: String,
    #[serde(default)]
    role: AccessRole,
    workspace: Option<String>,
    process: Option<String>,
    minutes: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Code {
    code: String,
}

async fn body<T: serde::de::DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let object = read_object(body).await?;
    serde_json::from_value(Value::Object(object)).map_err(|error| Problem::invalid("body", error))
}

pub(crate) fn login() -> MethodRouter<Shared> {
    async fn handle(State(gateway): State<Shared>, sent: Body) -> Result<Response, Problem> {
        let sign_in: SignIn = body(sent).await?;
        match (sign_in.code, sign_in.link) {
            (Some(code), None) => pair(&gateway, &code, &sign_in.name),
            (None, Some(link)) => {
                let identity = gate::known(&gateway, &link, &[IdentityKind::Link])?;
                gateway.audit.note(&identity, "signed_in", json!({}));
                Ok(signed_in(&gateway, &identity, &link))
            }
            _ => Err(Problem::invalid("body", "give a code or a link")),
        }
    }
    post(handle)
}

/// Makes a device of the browser that shows the right code.
fn pair(gateway: &Gateway, code: &str, name: &str) -> Result<Response, Problem> {
    let scope = match gateway.pairing.redeem(code).map_err(refused)? {
        CodePurpose::Pair(scope) => scope,
        CodePurpose::Confirm => {
            return Err(Problem::denied("this code confirms, it does not pair: `qd pair` shows another"));
        }
    };
    let label = checked_label(name, "browser")?;
    let new = NewIdentity { kind: IdentityKind::Device, label, scope, expires: None };
    let (identity, secret) = gateway.access.add(new).map_err(Problem::internal)?;
    gateway.audit.note(&identity, "paired", json!({}));
    Ok(signed_in(gateway, &identity, secret.expose()))
}

fn refused(why: CodeRefusal) -> Problem {
    match why {
        CodeRefusal::TooOften => Problem::busy("too many codes were tried: wait a minute"),
        CodeRefusal::Wrong => Problem::new(StatusCode::FORBIDDEN, ErrorCode::Denied, "this is not the code"),
        CodeRefusal::NoCode => {
            let problem = Problem::new(
                StatusCode::FORBIDDEN,
                ErrorCode::Denied,
                "no code is open: it was used or is too old",
            );
            problem.hint("`qd pair` on the machine shows a new one")
        }
    }
}

fn signed_in(gateway: &Gateway, identity: &AccessIdentity, secret: &str) -> Response {
    ([(header::SET_COOKIE, gateway.cookie.set(secret))], Json(json!(identity))).into_response()
}

fn checked_label(name: &str, otherwise: &str) -> Result<String, Problem> {
    let name = if name.trim().is_empty() { otherwise } else { name.trim() };
    let is_plain = proto::Printable(name).to_text() == name && !name.contains('"');
    if name.chars().count() > MAX_LABEL || !is_plain {
        return Err(Problem::invalid("name", format!("at most {MAX_LABEL} printable characters, no quotes")));
    }
    Ok(name.to_owned())
}

pub(crate) fn logout() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
    ) -> Result<Response, Problem> {
        // A link stays for the others who have it; only this browser forgets it.
        if caller.kind == IdentityKind::Device {
            gateway.access.revoke(&caller.id).map_err(Problem::internal)?;
            gateway.tickets.revoke(&caller.id);
        }
        gateway.audit.note(&caller, "signed_out", json!({}));
        Ok(([(header::SET_COOKIE, gateway.cookie.remove())], Json(json!({}))).into_response())
    }
    post(handle)
}

pub(crate) fn me() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
    ) -> Json<Value> {
        let mut who = json!(caller);
        who["confirmed"] = json!(gateway.confirmations.is_confirmed(&caller.id));
        who["version"] = json!(proto::version::VERSION);
        Json(who)
    }
    get(handle)
}

pub(crate) fn step_up() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        sent: Body,
    ) -> Result<Json<Value>, Problem> {
        let sent: Code = body(sent).await?;
        match gateway.pairing.redeem(&sent.code).map_err(refused)? {
            CodePurpose::Confirm => {
                gateway.audit.note(&caller, "confirmed", json!({}));
                Ok(Json(json!({"seconds": gateway.confirmations.confirm(&caller.id).as_secs()})))
            }
            CodePurpose::Pair(_) => {
                Err(Problem::denied("this code pairs a device: `qd pair --confirm` shows another"))
            }
        }
    }
    post(handle)
}

pub(crate) fn list() -> MethodRouter<Shared> {
    async fn handle(State(gateway): State<Shared>) -> Result<Json<Value>, Problem> {
        let records = gateway.access.list().map_err(Problem::internal)?;
        Ok(Json(records.iter().map(crate::access::AccessRecord::view).collect()))
    }
    get(handle)
}

pub(crate) fn revoke() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        Path(id): Path<String>,
    ) -> Result<Json<Value>, Problem> {
        gateway.tickets.revoke(&id);
        if !gateway.access.revoke(&id).map_err(Problem::internal)? {
            let message = format!("no device, token or link \"{}\"", proto::Printable(&id));
            return Err(Problem::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message));
        }
        gateway.audit.note(&caller, "revoked", json!({"id": id}));
        Ok(Json(json!({})))
    }
    delete(handle)
}

pub(crate) fn mint_token() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        sent: Body,
    ) -> Result<Json<Value>, Problem> {
        let mint: Mint = body(sent).await?;
        let scope =
            Scope { role: mint.role, workspace: own_workspace(&caller, mint.workspace)?, target: None };
        let expires = mint.minutes.map(|minutes| now_ms() + minutes.saturating_mul(MINUTE));
        let label = checked_label(&mint.name, "token")?;
        let new = NewIdentity { kind: IdentityKind::Token, label, scope, expires };
        minted(&gateway, &caller, new)
    }
    post(handle)
}

pub(crate) fn mint_link() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        sent: Body,
    ) -> Result<Json<Value>, Problem> {
        let mint: Mint = body(sent).await?;
        let process =
            mint.process.ok_or_else(|| Problem::invalid("process", "say which one the link shows"))?;
        let process = super::processes::find(&gateway, &caller, &process).await?;
        let workspace = own_workspace(&caller, mint.workspace)?;
        let scope = Scope { role: AccessRole::View, workspace, target: Some(process.id.to_string()) };
        let life = mint.minutes.map_or(DAY, |minutes| minutes.saturating_mul(MINUTE)).min(MAX_LINK_LIFE);
        let label = checked_label(&mint.name, "link")?;
        let new = NewIdentity { kind: IdentityKind::Link, label, scope, expires: Some(now_ms() + life) };
        minted(&gateway, &caller, new)
    }
    post(handle)
}

/// Returns the workspace of what a caller mints: a caller with one gives no other.
fn own_workspace(caller: &AccessIdentity, asked: Option<String>) -> Result<Option<String>, Problem> {
    match (&caller.scope.workspace, asked) {
        (Some(own), Some(asked)) if *own != asked => {
            Err(Problem::denied(format!("this device is limited to workspace {}", proto::Printable(own))))
        }
        (Some(own), _) => Ok(Some(own.clone())),
        (None, asked) => Ok(asked),
    }
}

fn minted(gateway: &Gateway, caller: &AccessIdentity, new: NewIdentity) -> Result<Json<Value>, Problem> {
    let (identity, secret): (AccessIdentity, Secret) = gateway.access.add(new).map_err(Problem::internal)?;
    gateway.audit.note(
        caller,
        "minted",
        json!({"id": identity.id, "kind": identity.kind, "role_given": identity.scope.role}),
    );
    let mut answer = json!(identity);
    answer["secret"] = json!(secret.expose());
    Ok(Json(answer))
}
