/**
 * A self-signed certificate for `hooks.example.test`, valid from 2020 to 2120, and its key. It is trusted nowhere:
 * a test that wants it trusted hands it to the client itself.
 */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBXDCCAQOgAwIBAgIBATAKBggqhkjOPQQDAjAdMRswGQYDVQQDDBJob29rcy5l
eGFtcGxlLnRlc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMB0x
GzAZBgNVBAMMEmhvb2tzLmV4YW1wbGUudGVzdDBZMBMGByqGSM49AgEGCCqGSM49
AwEHA0IABAoyyQZVWTuglZvba3VaUpiKm39Eiv2xwb6sPxTu9Mnzv7Oox7H6zHQz
Sk+eGE0RJqTBKHWPgvOUFo7lu1xFl9CjMjAwMB0GA1UdEQQWMBSCEmhvb2tzLmV4
YW1wbGUudGVzdDAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIBaO
PLLi4Szog1jtMx8cYCAqgJMCVF8VZbuy5IzPgbAXAiAUzgqZ27btxB6MsJso3zqF
CaLVAfr5R6pCbqsTd5inVg==
-----END CERTIFICATE-----`;

export const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgHatPN3Umd5GB3kNN
gtvdWI3/zgbCyOKddMWL2+NdmxGhRANCAAQKMskGVVk7oJWb22t1WlKYipt/RIr9
scG+rD8U7vTJ87+zqMex+sx0M0pPnhhNESakwSh1j4LzlBaO5btcRZfQ
-----END PRIVATE KEY-----`;
