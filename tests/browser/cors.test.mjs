//  A page of another origin reads a run by fetch, in headless Chromium: what CORS allows is proved by a browser, and that one which
//  is not allowed reads nothing.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'

import { chromium } from 'playwright-core'

import { startArgosd } from '../node/argosd.mjs'

const pages = []
let argosd
let browser

//  A server of an empty page; its origin.
const serve = async () => {
  const server = createServer((request, answer) => {
    answer.setHeader('Content-Type', 'text/html')
    answer.end('<!doctype html><title>page</title>')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  pages.push(server)
  return `http://127.0.0.1:${server.address().port}`
}

let allowed
let stranger

before(async () => {
  allowed = await serve()
  stranger = await serve()
  argosd = await startArgosd(`http: {cors_origins: ["${allowed}"]}\n`)
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
})

after(async () => {
  await browser?.close()
  for (const page of pages) page.close()
  assert.equal(await argosd.stop(), 0)
})

//  Runs fn in a page of that origin.
const inPage = async (origin, fn, more = {}) => {
  const page = await browser.newPage()
  await page.goto(origin)
  const value = await page.evaluate(fn, { base: `http://127.0.0.1:${argosd.port}`, key: argosd.key, ...more })
  await page.close()
  return value
}

const readRun = async ({ base, key }) => {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'Idempotency-Key': crypto.randomUUID() }
  const started = await fetch(`${base}/v1/runs`, { method: 'POST', headers, body: JSON.stringify({ input: '!slow 5' }) })
  const run = (await started.json()).run_id
  let text = ''
  let last
  const read = async (after) => {
    const answer = await fetch(`${base}/v1/runs/${run}/events`,
      { headers: { Authorization: `Bearer ${key}`, ...(after === undefined ? {} : { 'Last-Event-ID': after }) } })
    let buffer = ''
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      buffer += piece
      const frames = buffer.split('\n\n')
      buffer = frames.pop()
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)
        if (!data) continue
        last = JSON.parse(data[1])
        text += last.event === 'message.delta' ? last.delta : ''
        if (after === undefined) return /^id: (.*)$/m.exec(frame)[1] // Cut after the first one
      }
    }
  }
  await read(await read())
  return { status: started.status, id: started.headers.get('X-Request-Id'), text, last }
}

test('C039: a page of an allowed origin starts a run, reads it, is cut and goes on', async () => {
  const { status, id, text, last } = await inPage(allowed, readRun)
  assert.equal(status, 202)
  assert.match(id, /^req_/)
  assert.equal(last.event, 'run.completed')
  assert.equal(text, last.output)
})

test('C151: a preflight lets through what SDKs and sessions need', async () => {
  const answer = await inPage(allowed, async ({ base, key }) => {
    const reply = await fetch(`${base}/v1/chat/completions`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', 'X-Hermes-Session-Id': 'page', 'X-Hermes-Session-Key': 'k', 'x-stainless-os': 'Linux' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'hello' }] })
    })
    const changed = await fetch(`${base}/api/sessions/page`,
      { method: 'PATCH', headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }, body: JSON.stringify({ title: 'From a page' }) })
    return { session: reply.headers.get('X-Hermes-Session-Id'), text: (await reply.json()).choices[0].message.content, changed: changed.status }
  })
  assert.deepEqual(answer, { session: 'page', text: 'You said: hello', changed: 200 })
})

test('C148: another origin reads nothing, not even whether we are there', async () => {
  const seen = await inPage(stranger, async ({ base, key }) => {
    const tries = ['/health', '/v1/models'].map((path) => fetch(base + path, { headers: { Authorization: `Bearer ${key}` } }).then(() => 'read', () => 'refused'))
    return Promise.all(tries)
  })
  assert.deepEqual(seen, ['refused', 'refused'])
})
