//! Secrets in the forms in which tools see them, and texts that only look like them.

use gateway_store::{CallLog, Filter, Options, Outcome};
use serde_json::{Value, json};

use crate::{record, write};

/// The value as the log stores it.
fn stored(document: &Value) -> String {
    let log = CallLog::in_memory(&Options::default()).unwrap();
    let mut call = record(0);
    call.input = document.to_string().into();
    call.outcome = Outcome::Result("{}".into());
    write(&log, [call]);
    let entry = log.query(&Filter::default()).unwrap().entries.remove(0);
    String::from_utf8(entry.call.input.to_vec()).unwrap()
}

/// The secret in all of them; its parts are long enough that half of it would be noticed.
const S: &str = "Zq7!mk2Xw9";
const R: &str = "q7Lm2xVb9RtK4wPzA81cD3eF";

#[test]
fn values_of_named_keys_are_redacted() {
    let mut leaks = Vec::new();
    for key in [
        "db_password",
        "userPassword",
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "github_token",
        "jwt",
        "bearer",
        "auth",
        "pass",
        "apikey ",
        "api.key",
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "access key",
        "client-secret",
        "credentials",
        "Authorization",
        "cookie",
        "session_id",
        "private_key",
        "ｐａｓｓｗｏｒｄ",
        "signing_key",
        "stripe_key",
        "SMTP_PASS",
        "dbpass",
        "webhook_secret",
        "refresh_token",
        "X-Auth-Token",
        "Set-Cookie",
        "proxy-authorization",
        "encryptionKey",
        "PGPASSWORD",
        "MYSQL_ROOT_PASSWORD",
        "new_password",
        "passwordConfirm",
        "account_key",
        "JSESSIONID",
        "user[password]",
        "ssh_key",
    ] {
        for document in
            [json!({key: S}), json!({"a": [{"b": {key: S}}]}), json!({"text": json!({key: S}).to_string()})]
        {
            let text = stored(&document);
            if text.contains(S) {
                leaks.push(text);
            }
        }
    }
    for (key, value) in [
        ("pin", json!(4821)),
        ("otp", json!("482913")),
        ("passcode", json!("48291")),
        ("cvv", json!("482")),
        ("key", json!(R)),
        ("signature", json!(R)),
        ("session", json!(R)),
    ] {
        let document = json!({key: value});
        let text = stored(&document);
        if text == document.to_string().as_str() {
            leaks.push(text);
        }
    }
    assert!(leaks.is_empty(), "{}:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn secrets_in_texts_are_redacted() {
    let mut leaks = Vec::new();
    let templates = [
        "DB_PASSWORD={S}",
        "export GITHUB_TOKEN={R}",
        "AWS_SECRET_ACCESS_KEY={R}\nNAME=x",
        "set API_KEY={S}",
        "ENV API_KEY={R}",
        "ENV API_KEY {R}",
        "curl -u bob:{S} https://x.test",
        "curl --user bob:{S} https://x.test",
        "curl -ubob:{S} https://x.test",
        "deploy --password {S} --force",
        "deploy --token={R}",
        "deploy --api-key '{S}'",
        "mysql -u root -p{S} db",
        "sshpass -p '{S}' ssh host",
        "docker login -u bob -p {S} registry.test",
        "redis-cli -a {S} ping",
        "https://maps.test/x?key={R}",
        "https://s3.test/o?X-Amz-Signature={R}&X=1",
        "https://x.test/?sv=1&sig={R}",
        "https://{R}@git.test/x.git",
        "https://bob:{S}@h.test/x",
        "postgres://bob:p/{R}@db:5432/x",
        "redis://:{S}@h:6379/0",
        "password: |\n  {S}\n  more\nuser: bob",
        "password: {S}",
        "user: bob\npassword: {S} # comment\n",
        "'password' => '{S}'",
        "\"password\": \"{S}\"",
        "{\"password\": \"{S}\", oops",
        "say {\\\"password\\\": \\\"{S}\\\"} end",
        "password = \"{S}\"",
        "token := \"{R}\"",
        "$config['db_password'] = '{S}';",
        "<password>{S}</password>",
        "<user password=\"{S}\"/>",
        "<add key=\"ApiKey\" value=\"{S}\"/>",
        "- name: DB_PASSWORD\n  value: {S}",
        "Authorization: Bearer {R}",
        "Authorization: Basic dXNlcjpwYXNz{R}",
        "X-Api-Key: {R}",
        "Cookie: sid={R}; theme=dark",
        "Set-Cookie: sid={R}; Path=/",
        "curl -H 'Authorization: Token {R}' https://x.test",
        "username=bob&password={S}&x=1",
        "user%5Bpassword%5D=Zq7mk2Xw9",
        "Server=db;User Id=sa;Password={S};Encrypt=true",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={R}==;",
        "machine h.test login bob password {S}",
        "db.test:5432:app:bob:{S}",
        "the password is {S}",
        "my api key: {R}",
        "The password for bob is \"{S}\".",
        "Your PIN is 482913",
        "Your verification code is 482913.",
        "use {S} as the password",
        "password hunter2Zebra",
        "ALTER USER bob WITH PASSWORD '{S}'",
        "CREATE USER x IDENTIFIED BY '{S}'",
        "API key = {R}",
        "| password | {S} |",
        "PASSWORD\t{S}",
        "ｐａｓｓｗｏｒｄ：{S}",
        "ｐａｓｓｗｏｒｄ＝{S}",
        "-----BEGIN RSA PRIVATE KEY-----\n{R}\n{R}\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----\\n{R}\\n",
        "xoxe-{R}",
        "xoxb-123456789012-{R}",
        "SG.{R}.{R}",
        "ya29.{R}",
        "dop_v1_{R}",
        "https://hooks.slack.com/services/T000/B000/{R}",
        "https://discord.com/api/webhooks/123456/{R}",
        "sk-ant-api03-{R}",
        "ghp_{R}",
        "github_pat_{R}",
        "glpat-{R}",
        "AKIA{R}",
        "AIza{R}",
        "npm_{R}",
        "pypi-{R}",
        "hf_{R}",
        "shpat_{R}",
        "rk_live_{R}",
        "whsec_{R}",
        "eyJhbGciOiJIUzI1NiJ9.{R}.{R}",
        "AGE-SECRET-KEY-1{R}",
        "requirepass {S}",
        "log: token={R}, user=bob",
        "client_secret: \"{S}\"\n",
        "[db]\npassword = {S}\n",
        "key: value\napi_key: {S}",
        "SECRET_KEY_BASE={R}",
        "process.env.API_KEY = '{S}'",
        "password: \"{S}\"",
        "aws_secret_access_key = {R}",
        "secret={S}",
        "passwords:\n  - {S}\n  - x1y2z3{S}\n",
        "hvs.{R}",
        "The token is {R}, keep it.",
        "credentials: bob / {S}",
        "//registry.test/:_authToken={R}",
    ];
    for template in templates {
        let text = template.replace("{S}", S).replace("{R}", R);
        for document in [
            json!(text),
            json!({"content": [{"type": "text", "text": text}]}),
            json!({"x": json!({"y": text}).to_string()}),
        ] {
            let kept = stored(&document);
            if [S, R, "hunter2Zebra", "482913", "Zq7mk2Xw9"].iter().any(|secret| kept.contains(secret)) {
                leaks.push(kept);
            }
        }
    }
    assert!(leaks.is_empty(), "{}:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn secrets_next_to_their_names_are_redacted() {
    let mut leaks = Vec::new();
    for document in [
        json!([{"name": "Authorization", "value": S}]),
        json!([{"value": S, "name": "DB_PASSWORD"}]),
        json!({"key": "apiKey", "value": S}),
        json!({"Key": "client_secret", "Value": [S]}),
        json!([["PASSWORD", S], ["USER", "bob"]]),
        json!([["PASSWORD", "swordfish"]]),
        json!(["curl", "-u", format!("bob:{S}"), "https://x.test"]),
        json!(["deploy", "--password", S]),
        json!(["mysql", format!("--password={S}")]),
        json!(["Authorization", R, "Accept", "*/*"]),
        json!({"type": "password", "value": S}),
        json!({"credentials": {"user": "bob", "x": S}}),
        json!({"headers": {"X-Api-Key": [S]}}),
    ] {
        let text = stored(&document);
        if [S, R, "swordfish"].iter().any(|secret| text.contains(secret)) {
            leaks.push(text);
        }
    }
    assert!(leaks.is_empty(), "{}:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let mut touched = Vec::new();
    for document in [
        json!({"max_tokens": 4096, "token_count": 3, "tokens": ["a", "b"], "pass_rate": 0.9, "author": "Ann", "passenger": "Bob"}),
        json!({"pinned": true, "keyboard": "de", "authenticate": true, "next_page_token": "CAUQAA", "sort_key": "name", "primary_key": "id"}),
        json!({"public_key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ", "signature": "def add(a: int, b: int) -> int", "secretary": "Kim", "session_name": "Keynote"}),
        json!({"pass": 12, "fail": 0, "pin": 13, "password": null, "token": true, "key": "colour", "cookie": false}),
        json!({"properties": {"password": {"type": "string", "description": "The password of the user"}, "token": {"type": "string"}}}),
        json!({"required": ["username", "password"]}),
        json!({"credentials": "include", "auth": "oauth2", "PWD": "/home/bob/project"}),
        json!("The password must have at least 8 characters."),
        json!("Password reset email sent to ann@example.test"),
        json!("Your password is incorrect. Please try again."),
        json!("The token is expired; sign in again."),
        json!("The token bucket algorithm limits the rate to 5 requests."),
        json!("Use the --password flag to set a password."),
        json!("Set API_KEY=${API_KEY} and TOKEN=<your token> first."),
        json!(
            "def login(user: str, password: str) -> Token:\n    token = get_token(user, password)\n    return token"
        ),
        json!("const token = await client.getToken(); const password = process.env.PASSWORD;"),
        json!("SELECT id, token FROM sessions WHERE token = ? AND user = $1"),
        json!("password VARCHAR(255) NOT NULL"),
        json!("commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\nAuthor: Ann <ann@example.test>"),
        json!("See https://example.test/docs/tokens?page=2#keys and http://localhost:8080/a@b"),
        json!("id: 550e8400-e29b-41d4-a716-446655440000"),
        json!("the bearer of this letter; basic authentication is used"),
        json!("Secret Santa: Thursday. Cookie recipe: 200g sugar."),
        json!("docker run -u 1000:1000 -p 8080:80 image"),
        json!("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"),
        json!("-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----"),
        json!("struct Login { password: String, token: Option<String> }"),
        json!("git clone git@github.com:owner/name.git; ssh://git@host.test/x"),
        json!("Key: C major. Session: morning. Code: 404."),
        json!("a risk-free plan with a task-abcdefghijklmnopqrstuvwxyz"),
        json!("Passwords are hashed with argon2id; the secret is to practice every day."),
        json!("tokens: 1523, cost: $0.02"),
        json!("| user | password | role |\n|---|---|---|"),
        json!("The key is under the mat and the pin is on the map."),
        json!({"text": "In Oslo, key figures: 12 tokens per second, pass rate 93%."}),
        json!("key=value; sort_key=created_at&primary_key=id"),
        json!("Authorization: required for all routes"),
        json!("The author of the passage is an authority on passports."),
        json!({"headers": {"Content-Type": "application/json", "X-Request-Id": "7f3a9c"}}),
        json!("He is as good as the password manager on this page2."),
    ] {
        let (text, expected) = (stored(&document), document.to_string());
        if text != expected {
            touched.push(text);
        }
    }
    assert!(touched.is_empty(), "{}:\n{}", touched.len(), touched.join("\n"));
}

#[test]
fn names_of_a_call_are_cleaned_too() {
    let log = CallLog::in_memory(&Options::default()).unwrap();
    let mut call = record(0);
    call.tool = format!("sk-proj-{R}").into();
    call.correlation_id = format!("ghp_{R}").into();
    write(&log, [call]);
    let entry = log.query(&Filter::default()).unwrap().entries.remove(0);
    assert_eq!((&*entry.call.tool, &*entry.call.correlation_id), ("sk-[redacted]", "ghp_[redacted]"));
}
