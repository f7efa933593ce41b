//  Clients that people use, unmodified, against the HTTP interface: two versions of the official one, the AI SDK, a parser of
//  event streams. Behind it the rehearsal provider answers.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText } from 'ai'
import { createParser } from 'eventsource-parser'
import OpenAI from 'openai'
import OpenAI4 from 'openai4'

import { startArgosd } from './argosd.mjs'

let argosd
let small // One that takes one run at a time
const headers = () => ({ Authorization: `Bearer ${argosd.key}` })
const url = (path) => `http://127.0.0.1:${argosd.port}${path}`
const say = (content) => ({ model: 'argos', messages: [{ role: 'user', content }] })
const echo = '!tool terminal {"command":"echo hi"}'

before(async () => {
  argosd = await startArgosd()
  small = await startArgosd('http: {max_concurrent_runs: 1}\n')
})
after(async () => {
  assert.equal(await argosd.stop(), 0)
  assert.equal(await small.stop(), 0)
})

const api = async (path, options = {}) => {
  const answer = await fetch(url(path), { ...options, headers: headers() })
  return answer.json()
}

const full = async (path, options = {}) => {
  const answer = await fetch(`http://127.0.0.1:${small.port}${path}`, { ...options, headers: { Authorization: `Bearer ${small.key}` } })
  return answer.json()
}

const newest = async () => (await api('/v1/runs?limit=1')).data[0]

const until = async (condition) => {
  const deadline = Date.now() + 20000
  for (;;) {
    const value = await condition()
    if (value) return value
    assert.ok(Date.now() < deadline, 'the deadline has passed')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

for (const [name, Client] of [['openai 4', OpenAI4], ['openai 7', OpenAI]]) {
  const client = (options = {}) => new Client({ baseURL: url('/v1'), apiKey: argosd.key, maxRetries: 0, ...options })

  test(`${name}: a completion`, async () => {
    const answer = await client().chat.completions.create(say('Hello'))
    assert.equal(answer.choices[0].message.content, 'You said: Hello')
    assert.match(answer._request_id, /^req_/)
  })

  test(`${name}: a stream, read and assembled`, async () => {
    let text = ''
    for await (const chunk of await client().chat.completions.create({ ...say('!slow 3'), stream: true })) {
      text += chunk.choices[0]?.delta?.content ?? ''
    }
    assert.match(text, /token1.*token3/)
    const { completions } = client().chat.completions.stream ? client().chat : client().beta.chat
    const stream = completions.stream({ ...say(echo), stream_options: { include_usage: true } })
    const answer = await stream.finalChatCompletion()
    assert.equal(answer.choices[0].finish_reason, 'stop')
    assert.match(answer.choices[0].message.content, /hi/)
    assert.ok(answer.usage.total_tokens > 0)
  })

  test(`${name}: an abort ends the run`, async () => {
    const stream = await client().chat.completions.create({ ...say(`!slow 1000 ${name}`), stream: true })
    let run
    for await (const chunk of stream) {
      if (!chunk.choices[0]?.delta?.content) continue
      run = await newest()
      stream.controller.abort()
      break
    }
    await until(async () => (await api(`/v1/runs/${run.run_id}`)).status === 'cancelled')
  })

  test(`${name}: a failed turn is not run again`, async () => {
    const before = (await api('/v1/runs?limit=200')).data.length
    await assert.rejects(client({ maxRetries: 2 }).chat.completions.create(say(`!fail 401 ${name}`)),
      (error) => error instanceof Client.InternalServerError && error.status === 502 && error.code === 'agent_incomplete')
    assert.equal((await api('/v1/runs?limit=200')).data.length, before + 1)
  })

  test(`${name}: a refusal for want of room is tried again`, async () => {
    const held = await full(`/v1/runs`, { method: 'POST', body: JSON.stringify({ input: '!hang' }) })
    let tries = 0
    const counted = async (...request) => {
      const answer = await fetch(...request)
      tries += 1
      if (tries === 1) {
        assert.equal(answer.status, 429)
        await full(`/v1/runs/${held.run_id}/stop`, { method: 'POST' })
        await until(async () => (await full(`/v1/runs/${held.run_id}`)).status === 'cancelled')
      }
      return answer
    }
    const patient = new Client({ baseURL: `http://127.0.0.1:${small.port}/v1`, apiKey: small.key, maxRetries: 2, fetch: counted })
    const answer = await patient.chat.completions.create(say('Hello'))
    assert.equal(answer.choices[0].message.content, 'You said: Hello')
    assert.equal(tries, 2)
  })

  test(`${name}: an error in a stream is thrown`, async () => {
    await assert.rejects(async () => {
      for await (const chunk of await client().chat.completions.create({ ...say(`!fail 401 streamed ${name}`), stream: true })) assert.ok(chunk)
    }, (error) => error instanceof Client.APIError && error.message.length > 0)
  })

  test(`${name}: responses, stored and chained`, async () => {
    const first = await client().responses.create({ model: 'argos', input: 'Hello' })
    assert.equal(first.output_text, 'You said: Hello')
    const second = await client().responses.create({ model: 'argos', input: 'Again', previous_response_id: first.id })
    assert.equal(second.previous_response_id, first.id)
    assert.equal((await client().responses.retrieve(first.id)).id, first.id)
    await (client().responses.delete ?? client().responses.del).call(client().responses, second.id)
    await assert.rejects(client().responses.retrieve(second.id), Client.NotFoundError)
  })

  test(`${name}: the helper for streams of responses`, async () => {
    const types = []
    const stream = client().responses.stream({ model: 'argos', input: echo })
    for await (const event of stream) types.push(event.type)
    const answer = await stream.finalResponse()
    assert.deepEqual(answer.output.map((item) => item.type), ['function_call', 'function_call_output', 'message'])
    assert.match(answer.output[2].content[0].text, /hi/)
    assert.equal(types.at(-1), 'response.completed')
  })

  test(`${name}: models and errors`, async () => {
    const ids = []
    for await (const model of client().models.list()) ids.push(model.id)
    assert.deepEqual(ids, ['argos'])
    await assert.rejects(client({ apiKey: 'wrong' }).models.list(), Client.AuthenticationError)
    await assert.rejects(client().chat.completions.create({ model: 'argos', messages: [] }), Client.BadRequestError)
  })
}

test('the AI SDK: text, stream and abort', async () => {
  const model = createOpenAICompatible({ name: 'argos', baseURL: url('/v1'), apiKey: argosd.key })('argos')
  assert.equal((await generateText({ model, prompt: 'Hello' })).text, 'You said: Hello')
  const stream = streamText({ model, prompt: echo })
  let text = ''
  for await (const part of stream.textStream) text += part
  assert.match(text, /hi/)
  assert.equal(await stream.finishReason, 'stop')
  const controller = new AbortController()
  const long = streamText({ model, prompt: '!slow 1000 by the AI SDK', abortSignal: controller.signal, onError: () => {} })
  let run
  for await (const part of long.fullStream) {
    if (part.type !== 'text-delta' || run) continue
    run = await newest()
    controller.abort()
  }
  await until(async () => (await api(`/v1/runs/${run.run_id}`)).status === 'cancelled')
})

test('a parser of event streams reads a run to its end', async () => {
  const { run_id: run } = await api('/v1/runs', { method: 'POST', body: JSON.stringify({ input: '!slow 5' }) })
  const events = []
  const parser = createParser({ onEvent: (event) => events.push(event) })
  const answer = await fetch(url(`/v1/runs/${run}/events`), { headers: headers() })
  const decoder = new TextDecoder()
  for await (const piece of answer.body) parser.feed(decoder.decode(piece, { stream: true }))
  assert.deepEqual(events.map((event) => Number(event.id)), events.map((_, index) => index))
  assert.ok(events.every((event) => event.event === undefined))
  assert.equal(JSON.parse(events.at(-1).data).event, 'run.completed')
})
