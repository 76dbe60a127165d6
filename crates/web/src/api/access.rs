//! Signing in and out, and everything about devices, tokens and links.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use axum::{Extension, Json};
use proto::limit::check_label;
use proto::request::Empty;
use proto::{ErrorCode, Printable, Reply, Request, Role};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::{AccessRecord, NewIdentity};
use crate::clock::{DAY, MINUTE};
use crate::gateway::{Gateway, Shared};
use crate::identity::{AccessIdentity, IdentityKind, LinkTarget, Scope};
use crate::link;
use crate::pairing::{CodePurpose, CodeRefusal};
use crate::passphrase::PassphraseRefusal;
use crate::problem::Problem;
use crate::request_check;
use crate::secrets::Secret;
use crate::verb_call::read_object;

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
    /// To watch, if it is not given.
    role: Option<Role>,
    workspace: Option<String>,
    process: Option<String>,
    task: Option<String>,
    minutes: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct Proof {
    code: Option<String>,
    passphrase: Option<String>,
}

async fn body<T: serde::de::DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let object = read_object(body).await?;
    serde_json::from_value(Value::Object(object)).map_err(|error| Problem::invalid("body", error))
}

pub(crate) fn login() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        headers: HeaderMap,
        sent: Body,
    ) -> Result<Response, Problem> {
        let sign_in: SignIn = body(sent).await?;
        match (sign_in.code, sign_in.link) {
            (Some(code), None) => pair(&gateway, &code, &sign_in.name),
            (None, Some(link)) => follow_link(&gateway, &headers, &link),
            _ => Err(Problem::invalid("body", "give a code or a link")),
        }
    }
    post(handle)
}

/// Signs a browser in by a link. A paired device stays the device that it is and goes to the target as such: the link's cookie
/// would sign it out.
fn follow_link(gateway: &Gateway, headers: &HeaderMap, link: &str) -> Result<Response, Problem> {
    let identity = request_check::identity_of(gateway, link, &[IdentityKind::Link])?;
    let shown = gateway.cookie.find(headers);
    let device =
        shown.and_then(|secret| request_check::identity_of(gateway, secret, &[IdentityKind::Device]).ok());
    if let Some(device) = device {
        gateway.audit.note(&device, "followed_link", json!({"link": identity.id}));
        return Ok(Json(json!(identity)).into_response());
    }
    gateway.audit.note(&identity, "signed_in", json!({}));
    Ok(signed_in(gateway, &identity, link))
}

/// Makes a device of the browser that shows the right code.
fn pair(gateway: &Gateway, code: &str, name: &str) -> Result<Response, Problem> {
    let scope = match gateway.pairing.redeem(code).map_err(refused)? {
        CodePurpose::Pair(scope) => scope,
        CodePurpose::Confirm => {
            return Err(Problem::denied("this code confirms an action; to sign in, use a code of `qd pair`"));
        }
    };
    let label = checked_label(name, "browser")?;
    let new = NewIdentity { kind: IdentityKind::Device, label, scope, life_ms: None };
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
    match check_label(name) {
        Ok(()) => Ok(name.to_owned()),
        Err(failure) => Err(Problem { status: StatusCode::BAD_REQUEST, failure }),
    }
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
        headers: HeaderMap,
    ) -> Response {
        let mut who = json!(caller);
        who["confirmed"] = json!(gateway.confirmations.is_confirmed(&caller.id));
        who["version"] = json!(proto::version::VERSION);
        let passphrase = gateway.passphrase.is_set().then_some("passphrase");
        let push = cfg!(feature = "push").then_some("push");
        who["features"] = ["files"].into_iter().chain(passphrase).chain(push).collect();
        let renewed = renewed_cookie(&gateway, &caller, &headers);
        (renewed.map(|cookie| [(header::SET_COOKIE, cookie)]), Json(who)).into_response()
    }
    get(handle)
}

/// Returns the cookie of a device anew, so that the browser keeps it for 30 days after its last use, too.
fn renewed_cookie(gateway: &Gateway, caller: &AccessIdentity, headers: &HeaderMap) -> Option<String> {
    let shown = gateway.cookie.find(headers).filter(|_| caller.kind == IdentityKind::Device)?;
    Some(gateway.cookie.set(shown))
}

pub(crate) fn step_up() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        sent: Body,
    ) -> Result<Json<Value>, Problem> {
        let proof: Proof = body(sent).await?;
        let by = match (proof.code, proof.passphrase) {
            (Some(code), None) => check_code(&gateway, &code).map(|()| "code")?,
            (None, Some(passphrase)) => {
                check_passphrase(gateway.clone(), passphrase).await.map(|()| "passphrase")?
            }
            _ => return Err(Problem::invalid("body", "give a code or a passphrase")),
        };
        gateway.audit.note(&caller, "confirmed", json!({"by": by}));
        Ok(Json(json!({"seconds": gateway.confirmations.confirm(&caller.id).as_secs()})))
    }
    post(handle)
}

fn check_code(gateway: &Gateway, code: &str) -> Result<(), Problem> {
    match gateway.pairing.redeem(code).map_err(refused)? {
        CodePurpose::Confirm => Ok(()),
        CodePurpose::Pair(_) => {
            Err(Problem::denied("this code pairs a device: `qd pair --confirm` shows another"))
        }
    }
}

async fn check_passphrase(gateway: Shared, shown: String) -> Result<(), Problem> {
    let checked = tokio::task::spawn_blocking(move || gateway.passphrase.check(&shown)).await;
    checked.map_err(Problem::internal)?.map_err(|why| match why {
        PassphraseRefusal::NotSet => {
            Problem::denied("there is no passphrase: `qd access passphrase` sets one")
        }
        PassphraseRefusal::Wrong => Problem::denied("this is not the passphrase"),
        PassphraseRefusal::TooOften => Problem::busy("too many were wrong: wait 15 minutes, or use a code"),
    })
}

pub(crate) fn list() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
    ) -> Result<Json<Value>, Problem> {
        Ok(Json(governed(&gateway, &caller)?.iter().map(AccessRecord::view).collect()))
    }
    get(handle)
}

/// Returns the identities that an administrator decides about: one with a workspace knows of no other's.
fn governed(gateway: &Gateway, caller: &AccessIdentity) -> Result<Vec<AccessRecord>, Problem> {
    let mut records = gateway.access.list().map_err(Problem::internal)?;
    if let Some(workspace) = &caller.scope.workspace {
        records.retain(|record| record.scope.workspace.as_ref() == Some(workspace));
    }
    Ok(records)
}

pub(crate) fn revoke() -> MethodRouter<Shared> {
    async fn handle(
        State(gateway): State<Shared>,
        Extension(caller): Extension<AccessIdentity>,
        Path(id): Path<String>,
    ) -> Result<Json<Value>, Problem> {
        let is_governed = governed(&gateway, &caller)?.iter().any(|record| record.id == id);
        if !is_governed || !gateway.access.revoke(&id).map_err(Problem::internal)? {
            let message = format!("no device, token or link \"{}\"", Printable(&id));
            return Err(Problem::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, message));
        }
        gateway.tickets.revoke(&id);
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
        let role = mint.role.unwrap_or(Role::View);
        let workspace = own_workspace(&caller, mint.workspace)?;
        if let Some(workspace) = &workspace {
            check_known(&gateway, &caller, workspace).await?;
        }
        let scope = Scope { role, workspace, target: None };
        let life_ms = mint.minutes.map(|minutes| minutes.saturating_mul(MINUTE));
        let label = checked_label(&mint.name, "token")?;
        let new = NewIdentity { kind: IdentityKind::Token, label, scope, life_ms };
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
        let (workspace, target) = link_target(&gateway, &caller, mint.process, mint.task).await?;
        let scope = Scope { role: Role::View, workspace: Some(workspace), target: Some(target) };
        let life = mint.minutes.map_or(DAY, |minutes| minutes.saturating_mul(MINUTE)).min(MAX_LINK_LIFE);
        let label = checked_label(&mint.name, "link")?;
        let new = NewIdentity { kind: IdentityKind::Link, label, scope, life_ms: Some(life) };
        minted(&gateway, &caller, new)
    }
    post(handle)
}

/// Returns what a link is to show, and its workspace.
async fn link_target(
    gateway: &Gateway,
    caller: &AccessIdentity,
    process: Option<String>,
    task: Option<String>,
) -> Result<(String, LinkTarget), Problem> {
    match (process, task) {
        (Some(process), None) => {
            let process = super::processes::find(gateway, caller, &process).await?;
            Ok((process.workspace, LinkTarget::Process(process.id.to_string())))
        }
        (None, Some(task)) => {
            let task = link::find_task(gateway, caller, &task).await?;
            Ok((task.workspace, LinkTarget::Task { task: task.name, created_at: task.created_at }))
        }
        _ => Err(Problem::invalid("body", "give a process or a task that the link shows")),
    }
}

/// Returns the workspace of what a caller mints: a caller with one gives no other.
fn own_workspace(caller: &AccessIdentity, asked: Option<String>) -> Result<Option<String>, Problem> {
    match (&caller.scope.workspace, asked) {
        (Some(own), Some(asked)) if *own != asked => {
            Err(Problem::denied(format!("this device is limited to workspace {}", Printable(own))))
        }
        (Some(own), _) => Ok(Some(own.clone())),
        (None, asked) => Ok(asked),
    }
}

/// Refuses a workspace that the caller knows nothing of.
async fn check_known(gateway: &Gateway, caller: &AccessIdentity, workspace: &str) -> Result<(), Problem> {
    match gateway.door.ask(caller, Request::Workspaces(Empty {})).await? {
        Reply::Workspaces(all) if all.iter().any(|known| known.name == workspace) => Ok(()),
        Reply::Workspaces(_) => {
            let message = format!("there is no workspace \"{}\"", Printable(workspace));
            let problem = Problem::new(StatusCode::FORBIDDEN, ErrorCode::WorkspaceMismatch, message);
            Err(problem.hint("`qd workspace list` shows them"))
        }
        _ => Err(Problem::internal("workspaces was answered with something else")),
    }
}

fn minted(gateway: &Gateway, caller: &AccessIdentity, new: NewIdentity) -> Result<Json<Value>, Problem> {
    let (identity, secret): (AccessIdentity, Secret) = gateway.access.add(new).map_err(Problem::internal)?;
    gateway.audit.note_minted(caller, &identity);
    let mut answer = json!(identity);
    answer["secret"] = json!(secret.expose());
    Ok(Json(answer))
}
