//! Texts from tools with a secret in each, and similar texts without one.

use gateway_store::{CallLog, Filter, Options, Outcome};

use crate::{filter, record, write};

/// The text as it is stored as the message of an error.
fn stored(text: &str) -> String {
    let log = CallLog::in_memory(&Options::default()).unwrap();
    let mut call = record(0);
    call.outcome = Outcome::error(text, "TOOL_ERROR");
    write(&log, vec![call]);
    let entry = log.query(&filter(|f: &mut Filter| f.limit = 1)).unwrap().entries.remove(0);
    match entry.call.outcome {
        Outcome::Error { message, .. } => message.to_string(),
        Outcome::Result(_) => unreachable!("an error was written"),
    }
}

#[test]
fn secrets_are_redacted_in_every_position() {
    let leaks: Vec<String> = [
        // Markup
        ("<user><pwd type=\"plain\">Kiwi#44</pwd></user>", "Kiwi#44"),
        ("<add key=\"ApiKey\" value=\"q8Zr71LmWc02\" />", "q8Zr71LmWc02"),
        ("<entry key=\"smtp.password\">mail-Box-Otter</entry>", "mail-Box-Otter"),
        ("<th>Token</th><td>9aF3kLmQ27xZbV10</td>", "9aF3kLmQ27xZbV10"),
        ("<input type=\"password\" name=\"pw\" value=\"form-Val-Heron\">", "form-Val-Heron"),
        ("kind: Secret\ndata:\n  a: c2VjcmV0LXZhbHVlLTE=\n  b: |\n    Zm9vYmFyYmF6\n", "Zm9vYmFyYmF6"),
        ("<password>hunter2", "hunter2"),
        ("<user>eva<password>kiwi-Otter-7\n<port>1</port>", "kiwi-Otter-7"),
        ("<config>\n  <dbPassword type=\"plain\">swordfish\n</config>", "swordfish"),
        ("<token>9aF3kLmQ27xZbV10<br>next", "9aF3kLmQ27xZbV10"),
        ("<password>\"kiwi-Otter-7\"", "kiwi-Otter-7"),
        // Source code
        ("os.environ['STRIPE_KEY'] = 'live_9Qm2Zx81Kp'", "live_9Qm2Zx81Kp"),
        ("const apiKey: string = 'Qm29xLp0Zr81Tv5n';", "Qm29xLp0Zr81Tv5n"),
        ("conn = connect(host='db', user='app', password='blue-Door-Stamp')", "blue-Door-Stamp"),
        ("db.createUser({user: 'app', pwd: 'mongo-New-Newt'})", "mongo-New-Newt"),
        ("auth=('eva', 'py-Tuple-Toad7')", "py-Tuple-Toad7"),
        ("requests.get(url, auth=HTTPBasicAuth('eva', 'req-Basic-9'))", "req-Basic-9"),
        ("builder.withPassword(\"build-Er-Bison\")", "build-Er-Bison"),
        ("System.setProperty(\"db.password\", \"sys-Prop-Sable\")", "sys-Prop-Sable"),
        ("private static final String PASSWORD = \"java-Const-Jay\";", "java-Const-Jay"),
        ("UPDATE users SET password = 'upd-Ate-Urchin' WHERE id = 1", "upd-Ate-Urchin"),
        ("ALTER USER bob IDENTIFIED BY 'Alter-9-Asp'", "Alter-9-Asp"),
        ("INSERT INTO t (a, api_key) VALUES (1, 'k-One-Kea'), (2, 'k-Two-Kite')", "k-Two-Kite"),
        ("driver.find_element(By.NAME, 'password').send_keys('sel-Keys-Seal')", "sel-Keys-Seal"),
        ("Config { password: \"rust-Debug-Ray\", port: 5432 }", "rust-Debug-Ray"),
        ("Config(password='data-Class-Dace', port=5432)", "data-Class-Dace"),
        ("map[password:go-Map-Gull user:eva]", "go-Map-Gull"),
        ("&{User:eva Password:go-Struct-Gnu Port:1}", "go-Struct-Gnu"),
        ("array(2) { [\"password\"]=> string(12) \"php-Dump-Puma\" }", "php-Dump-Puma"),
        ("{:password=>\"ruby-Hash-Rook\", :user=>\"eva\"}", "ruby-Hash-Rook"),
        // Command lines
        ("PGPASSWORD=pg-Env-Pika psql -h db -U app", "pg-Env-Pika"),
        ("mysql -u root -pmy-Root-Mole app", "my-Root-Mole"),
        ("mysql --user=root --password=my-Long-Myna app", "my-Long-Myna"),
        ("aws configure set aws_secret_access_key Zk39fJq0aLx81mNbQ7", "Zk39fJq0aLx81mNbQ7"),
        ("kubectl create secret generic db --from-literal=password=lit-Eral-Lark", "lit-Eral-Lark"),
        ("vault kv put secret/db password=vault-Put-Viper", "vault-Put-Viper"),
        ("vault login hvs.CAESIJ1234567890abcdefghij", "CAESIJ1234567890abcdefghij"),
        ("gh auth login --with-token <<< 'ghx-Token-77aa88bb'", "ghx-Token-77aa88bb"),
        ("wget --http-user=eva --http-password=wget-Pw-Wasp http://h/", "wget-Pw-Wasp"),
        ("curl -H 'X-Auth-Token: 7f3a9c1e5b2d' http://h/", "7f3a9c1e5b2d"),
        ("curl --data 'user=eva&pass=curl-Data-Crow' http://h/", "curl-Data-Crow"),
        ("net use z: \\\\srv\\share /user:eva net-Use-Numbat9", "net-Use-Numbat9"),
        ("openssl enc -aes-256-cbc -k open-Ssl-Oryx -in a", "open-Ssl-Oryx"),
        ("openssl rsa -in k.pem -passin pass:pass-In-Perch", "pass-In-Perch"),
        ("echo 'eva:new-Pass-Nene' | sudo chpasswd", "new-Pass-Nene"),
        ("docker run -e MYSQL_ROOT_PASSWORD=dock-Env-Dove mysql", "dock-Env-Dove"),
        ("ansible-playbook -e 'ansible_become_pass=ans-Become-Ant' p.yml", "ans-Become-Ant"),
        ("setx API_KEY Qm29xLp0Zr81", "Qm29xLp0Zr81"),
        ("$env:DB_PASSWORD = 'ps-Env-Pug'", "ps-Env-Pug"),
        // Protocols and files
        ("+OK\r\nUSER eva\r\n+OK\r\nPASS pop-Three-Pip\r\n+OK", "pop-Three-Pip"),
        ("> AUTH default red-Acl-Robin\r\nOK", "red-Acl-Robin"),
        ("machine api.example.com\n  login eva\n  password net-Rc-Newt\n", "net-Rc-Newt"),
        ("db.example.com:5432:app:eva:pg-Pass-Pony", "pg-Pass-Pony"),
        ("network={\n  ssid=\"Attic\"\n  psk=\"wpa-Conf-Wren\"\n}", "wpa-Conf-Wren"),
        ("[Interface]\nPrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n", "yAnz5TF"),
        ("snmp-server community sn-Mp-Snipe RO", "sn-Mp-Snipe"),
        ("//registry.example.com/:_authToken=npm-Rc-77aa88bb99", "npm-Rc-77aa88bb99"),
        ("Server=db;User Id=sa;Password=ado-Net-Adder;Encrypt=yes", "ado-Net-Adder"),
        ("amqp://app:rabbit-Mq-Ram@mq:5672/v", "rabbit-Mq-Ram"),
        // Tables
        ("| Service | API key |\n|---|---|\n| maps | 7Gh2kQ9zX4mP1wE8 |\n", "7Gh2kQ9zX4mP1wE8"),
        ("host,username,passphrase\nh1,eva,tab-Le-Tern\n", "tab-Le-Tern"),
        ("USER      PASSWORD        ROLE\neva       col-Umn-Coot    admin\n", "col-Umn-Coot"),
        ("\"id\";\"secret\"\n\"1\";\"Zx81-kQ29-Lm03\"\n", "Zx81-kQ29-Lm03"),
        // Sentences
        ("The new Wi-Fi password is: sunny-Beach-42", "sunny-Beach-42"),
        ("You can log in with user eva and password Rainy!Day8.", "Rainy!Day8"),
        ("Your one-time code is 482913.", "482913"),
        ("Use 7731 as the PIN for the door.", "7731"),
        ("I reset his password to \"Winter is over 9\"", "Winter is over 9"),
        ("Das neue Kennwort lautet „Apfel-Kuchen-3“.", "Apfel-Kuchen-3"),
        ("Votre mot de passe est : Tulipe-Bleue-7", "Tulipe-Bleue-7"),
        ("La clave es Girasol77", "Girasol77"),
        ("Twoje hasło to Borówka-12", "Borówka-12"),
        ("Lösenordet är Blåbär-19", "Blåbär-19"),
        ("密码是 Xiongmao88", "Xiongmao88"),
        ("パスワードは Sakura-77 です", "Sakura-77"),
        ("2031-01-01 DEBUG login attempt user=eva password=log-Line-Lynx ip=10.0.0.1", "log-Line-Lynx"),
        ("panic: dial postgres://eva:pan-Ic-Pig@db/app: refused", "pan-Ic-Pig"),
    ]
    .into_iter()
    .filter_map(|(text, secret)| {
        let kept = stored(text);
        kept.contains(secret).then(|| format!("{secret} in {kept}"))
    })
    .collect();
    assert!(leaks.is_empty(), "{} leak:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn texts_about_secrets_stay_as_they_are() {
    let touched: Vec<String> = [
        "Enter user name, email, password\nThen press the button, wait, continue\n",
        "| Field | Type | Required |\n|---|---|---|\n| password | string | yes |\n| token | string | no |\n",
        "| Option | Description |\n|---|---|\n| --password | The password of the user |\n",
        "column,type\npassword,varchar(255)\ntoken,text\n",
        "usage: login <user> <password> [options]",
        "postgres://<user>:<password>@localhost:5432/app",
        "curl -H \"Authorization: Bearer <token>\" https://api.example.com/",
        "replace <api_key> with the one that you were given, and <token>s with yours",
        "name,pass_rate\nsuite-1,98\n",
        "const schema = z.object({ password: z.string().min(8), token: z.string() });",
        "password = os.getenv(\"DB_PASSWORD\")",
        "token = get_token(\"session\")",
        "t('password', 'Password')",
        "expect(page.getByLabel('Password')).toBeVisible()",
        "fn set_password(&mut self, password: &str) -> Result<(), Error> {",
        "let token: String = env::var(\"TOKEN\")?;",
        "def login(user: str, password: str = None) -> Token:",
        "SELECT id, password_hash FROM users WHERE token IS NULL",
        "CREATE TABLE users (id INT, password VARCHAR(255), api_key TEXT)",
        "INSERT INTO settings (name, value) VALUES ('theme', 'dark-Blue-Night')",
        "<label for=\"password\">Password</label><input id=\"password\" type=\"password\">",
        "<password/> is required",
        "<td>Password</td><td>Required</td>",
        "The password must be at least 12 characters long and hold a digit.",
        "Your password was changed on 3 May 2031.",
        "Das Passwort ist falsch.",
        "Le mot de passe est obligatoire.",
        "La contraseña es incorrecta.",
        "A senha é obrigatória.",
        "Token count: 1532, max tokens: 4096",
        "docker run -u 1000:1000 -p 8080:80 nginx",
        "ls -p | sort -u",
        "tar -xzf a.tar.gz && unzip -p b.zip c.txt",
        "commit 3f2a9c1e5b2d7f3a9c1e5b2d7f3a9c1e5b2d7f3a",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "550e8400-e29b-41d4-a716-446655440000",
        "see src/auth/token_store.rs:42 and tests/password_reset.rs",
        "GET /v1/tokens/refresh HTTP/1.1\r\nHost: api.example.com",
        "kubectl get secret db -o yaml",
        "NAME   TYPE     DATA   AGE\ndb     Opaque   2      5d\n",
        "password -> String",
        "The author of the key idea: simple tokens",
        "Keyboard shortcuts: press the key, then pin the tab.",
        "Session 3: Passing the torch; speaker: A. Secretary",
        "AUTH failed for user eva",
        "a1 LOGIN failed",
        "the login page: user/settings",
        "cookie policy: we use cookies to improve your visit",
        "compile with: cargo build --features token-auth",
        "my-Component-Name renders the non-Western-European names",
        "upstream://server-one/tool_name_with_a_very_long_identifier_in_it",
        "com.example.service.authentication.TokenAuthenticationProvider2Factory",
    ]
    .into_iter()
    .filter_map(|text| {
        let kept = stored(text);
        (kept != text).then(|| format!("{text} became {kept}"))
    })
    .collect();
    assert!(touched.is_empty(), "{} touched:\n{}", touched.len(), touched.join("\n"));
}

#[test]
fn owners_are_stored_as_they_are() {
    let log = CallLog::in_memory(&Options::default()).unwrap();
    // The name of an anonymous key, and a badly chosen name.
    let owners = ["key-3f9a1c77b20e4d58", "admin:key-3f9a1c77b20e4d58", "sk-live-abcdef0123456789"];
    for owner in owners {
        let mut call = record(0);
        call.caller = Some(owner.into());
        write(&log, vec![call]);
        let found = log.query(&filter(|f: &mut Filter| f.caller = Some(owner.to_owned()))).unwrap();
        assert_eq!(found.entries.len(), 1, "{owner}");
    }
}
