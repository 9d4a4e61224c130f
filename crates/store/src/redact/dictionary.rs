//! The words of which names of secrets consist, and the words around them that change their meaning.

use super::secret_names::Kind;
use crate::word_list::words;

pub(super) const PASSWORDS: &[&str] = words!(
    "password passwords passwd passphrase passphrases pwd pw pass passwort kennwort contrasena senha \
     wachtwoord motdepasse haslo parola heslo salasana losenord losenordet jelszo sifre пароль 密码 密碼 パスワード \
     비밀번호"
);
pub(super) const SECRETS: &[&str] = words!(
    "secret secrets credential credentials cred creds apikey apikeys psk mnemonic mnemonics privatekey \
     secretkey accesskey clientsecret requirepass masterauth"
);
pub(super) const TOKENS: &[&str] = words!(
    "token jwt bearer cookie cookies authorization auth sid sessid phpsessid jsessionid sessionid csrf xsrf \
     authtoken accesstoken"
);
pub(super) const CODES: &[&str] = &["pin", "otp", "totp", "passcode", "cvv", "cvc", "cvv2", "mfa", "pincode"];
pub(super) const RANDOM: &[&str] =
    &["signature", "sig", "session", "hmac", "key", "webhook", "schlussel", "clave"];
/// Words before `code` that make it a secret.
pub(super) const CODE_OWNERS: &[&str] = words!(
    "verification security auth authorization authentication access otp mfa 2fa totp sms time login pin \
     reset unlock door gate alarm backup recovery device"
);
/// Words before `key` that make it a secret.
pub(super) const KEY_OWNERS: &[&str] = words!(
    "access account admin aes anthropic api app application auth aws azure client consumer crypto deploy \
     encryption decryption functions gemini gcp github google hmac jwt license maps master openai private \
     priv rsa root secret sendgrid server service session shared signing ssh storage stripe subscription \
     symmetric tls ssl twilio webhook wallet host age gpg pgp ed25519 openssh manager"
);
/// Words before `key` that make it an identifier, however random it looks.
pub(super) const PLAIN_KEYS: &[&str] = words!(
    "idempotency partition sort primary foreign cache routing dedup deduplication row group object lookup \
     index shard range issue project file s3 surrogate"
);
/// Words before `tokens` that make them secrets; a plain `tokens` is a count or a split text.
pub(super) const TOKEN_OWNERS: &[&str] =
    &["access", "refresh", "api", "auth", "bearer", "session", "id", "oauth", "secret", "device"];
/// Words before `token` that make it a cursor or a piece of text.
pub(super) const HARMLESS_TOKENS: &[&str] = words!(
    "page next continuation sync cursor pagination start end stop eos bos pad unk mask cls sep special \
     first last per max min"
);
/// Words at the end that change nothing: `password_value`, `api_key_prod`, `password2`.
pub(super) const NEUTRAL: &[&str] = words!(
    "value val string str text raw plain plaintext cleartext b64 base64 hex encoded encrypted hash old new \
     current previous confirm confirmation repeat again prod production dev staging test live sandbox local \
     primary secondary env variable data pem header material salt main default"
);
/// Words at the end that make a name describe a secret instead of holding it: `token_count`, `secret_name`, `password_policy`.
pub(super) const ABOUT: &[&str] = words!(
    "count counts limit limits length len size name names type types policy policies rate rates url uri \
     endpoint path file filename dir directory expires expiry expiration expired expire ttl at on in date \
     time timestamp age field fields label hint placeholder required enabled disabled valid validity \
     invalid validation validator verified usage used remaining budget per format strength score status \
     state version rotation rotated algorithm alg scheme provider method methods scope scopes manager store \
     reset change changed forgot recovery visible hidden show bucket window index position pos offset id \
     ids ref reference arn uuid by cost price estimate counter stream embedding set list map class kind \
     issuer audience subject owner username group role permissions description desc title help message \
     error errors attempts tries retries history generator prompt input form page screen view button exists \
     present configured missing stdin fd command cmd helper source mount volume engine backend santa agent \
     level entropy similarity cache template consent banner jar bar through fail ratio percent percentage \
     created updated last first domain settings options config spec schema filter check checks test tests \
     events plugin module flow callback handler middleware regex pattern rules rule requirements min max \
     words word recipe sharing key lifetime lifespan duration timeout interval frequency threshold delay"
);
/// Suffixes that make a longer word a secret: `dbpassword`, `authtoken`.
pub(super) const FUSED: &[(&str, Kind)] = &[
    ("password", Kind::Password),
    ("passwd", Kind::Password),
    ("passphrase", Kind::Password),
    ("pwd", Kind::Password),
    ("passcode", Kind::Code),
    ("apikey", Kind::Secret),
    ("secretkey", Kind::Secret),
    ("accesskey", Kind::Secret),
    ("privatekey", Kind::Secret),
    ("authkey", Kind::Secret),
    ("secret", Kind::Secret),
    ("credentials", Kind::Secret),
    ("token", Kind::Token),
    ("sessionid", Kind::Token),
    ("sessid", Kind::Token),
];
/// Prefixes of words that end in `pass` and mean a password; `compass` and `bypass` do not.
pub(super) const PASS_OWNERS: &[&str] = &[
    "db", "user", "my", "mysql", "pg", "root", "admin", "smtp", "mail", "ftp", "ssh", "login", "auth",
    "redis", "ldap", "sudo", "key", "store", "proxy", "wifi",
];
