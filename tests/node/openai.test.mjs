//  The official OpenAI client against the rehearsal provider (the wire that the agent speaks) and, for its error classes,
//  against the runs API.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import OpenAI from 'openai'

import { startArgosd } from './argosd.mjs'

let argosd
let client

before(async () => {
  argosd = await startArgosd()
  client = new OpenAI({ baseURL: `http://127.0.0.1:${argosd.rehearsal}/v1`, apiKey: 'none', maxRetries: 0 })
})

after(async () => assert.equal(await argosd.stop(), 0))

const ask = (content) => ({ model: 'rehearsal', messages: [{ role: 'user', content }] })

const terminal = {
  type: 'function',
  function: { name: 'terminal', parameters: { type: 'object', properties: { command: { type: 'string' } } } }
}

test('a stream read chunk by chunk is the answer', async () => {
  let text = ''
  let reason = null
  for await (const chunk of await client.chat.completions.create({ ...ask('Hello'), stream: true })) {
    text += chunk.choices[0]?.delta?.content ?? ''
    reason = chunk.choices[0]?.finish_reason ?? reason
  }
  assert.equal(text, 'You said: Hello')
  assert.equal(reason, 'stop')
})

test('the stream helper assembles the completion', async () => {
  const stream = client.chat.completions.stream({ ...ask('!slow 3'), stream_options: { include_usage: true } })
  const completion = await stream.finalChatCompletion()
  assert.match(completion.choices[0].message.content, /token1.*token3/)
  assert.ok(completion.usage.total_tokens > 0)
})

test('the stream helper assembles a tool call', async () => {
  const stream = client.chat.completions.stream({ ...ask('!tool terminal {"command":"date"}'), tools: [terminal] })
  const completion = await stream.finalChatCompletion()
  const call = completion.choices[0].message.tool_calls[0]
  assert.equal(completion.choices[0].finish_reason, 'tool_calls')
  assert.equal(call.function.name, 'terminal')
  assert.deepEqual(JSON.parse(call.function.arguments), { command: 'date' })
})

test('an answer without a stream is understood', async () => {
  const completion = await client.chat.completions.create(ask('Hello'))
  assert.equal(completion.choices[0].message.content, 'You said: Hello')
})

test('models can be listed', async () => {
  const ids = []
  for await (const model of client.models.list()) ids.push(model.id)
  assert.ok(ids.length > 0)
})

test('a failure becomes the error class of its status', async () => {
  await assert.rejects(client.chat.completions.create(ask('!fail 429')), OpenAI.RateLimitError)
  await assert.rejects(client.chat.completions.create(ask('!fail 401')), OpenAI.AuthenticationError)
})

test('errors of the runs API have the form that the client reads', async () => {
  const runs = (apiKey) => new OpenAI({ baseURL: `http://127.0.0.1:${argosd.port}/v1`, apiKey, maxRetries: 0 })
  await assert.rejects(runs('wrong').get('/runs'),
    (error) => error instanceof OpenAI.AuthenticationError && error.code === 'gateway_auth_failed' && error.requestID?.startsWith('req_'))
  await assert.rejects(runs(argosd.key).post('/runs', { body: { input: '' } }),
    (error) => error instanceof OpenAI.BadRequestError && error.param === 'input')
  await assert.rejects(runs(argosd.key).get('/runs/run_00000000000000000000000000000000'),
    (error) => error instanceof OpenAI.NotFoundError && error.code === 'run_not_found')
})

test('a run is started and its events are read with fetch', async () => {
  const base = `http://127.0.0.1:${argosd.port}/v1/runs`
  const headers = { Authorization: `Bearer ${argosd.key}`, 'Content-Type': 'application/json' }
  const started = await fetch(base, { method: 'POST', headers, body: JSON.stringify({ input: '!slow 3' }) })
  assert.equal(started.status, 202)
  const { run_id: runId } = await started.json()
  const text = await (await fetch(`${base}/${runId}/events`, { headers })).text()
  const events = text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)))
  const answer = events.filter(({ event }) => event === 'message.delta').map(({ delta }) => delta).join('')
  assert.equal(events.at(-1).event, 'run.completed')
  assert.equal(answer, events.at(-1).output)
})
