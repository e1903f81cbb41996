// An OpenID Connect provider on a free port, which runs until its standard input is closed. It prints its address.
// A token for the resource urn:pgsched:ALG is signed with ALG. POST /rotate replaces its keys.
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'

async function key(alg, options) {
  const { privateKey } = await generateKeyPair(alg, { extractable: true, ...options })
  return { ...(await exportJWK(privateKey)), use: 'sig' }
}

async function provider(issuer) {
  const keys = [await key('RS256'), await key('ES256'), await key('EdDSA', { crv: 'Ed25519' })]
  return new Provider(issuer, {
    jwks: { keys },
    clients: [
      { client_id: 'shop-backend', client_secret: 'hush', grant_types: ['client_credentials'], redirect_uris: [], response_types: [] },
      // The client that people sign in with: a local one, which may use any port.
      {
        client_id: 'dashboard', token_endpoint_auth_method: 'none', application_type: 'native', grant_types: ['authorization_code'],
        redirect_uris: ['http://127.0.0.1/sign-in/return', 'http://localhost/sign-in/return'], response_types: ['code'],
      },
      {
        client_id: 'confidential', client_secret: 'hush hush', application_type: 'native', grant_types: ['authorization_code'],
        redirect_uris: ['http://127.0.0.1/sign-in/return'], response_types: ['code'],
      },
    ],
    // Any name can sign in with any password; ann is on call.
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, groups: id === 'ann' ? ['oncall'] : [] }) }),
    claims: { openid: ['sub', 'groups'] },
    conformIdTokenClaims: false,
    cookies: { keys: ['for tests alone'] },
    extraTokenClaims: () => ({ pgsched_clients: ['shop'], realm_access: { roles: ['scheduling'] } }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          scope: 'pgsched:schedule pgsched:read',
          audience: 'pgsched',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: resource.split(':').pop() } },
        }),
      },
    },
  })
}

const server = createServer(async (request, answer) => {
  if (request.url === '/rotate') {
    current = await provider(issuer)
    answer.end()
  } else current.callback()(request, answer)
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const issuer = `http://127.0.0.1:${server.address().port}`
let current = await provider(issuer)
console.log(JSON.stringify({ issuer }))
process.stdin.on('close', () => process.exit()).resume()
