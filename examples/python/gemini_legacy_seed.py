from mcp_tool_gateway import GatewayClient
import google.generativeai as genai

# 1. Initialize gateway client
gateway = GatewayClient("http://localhost:8787")

# 2. Get tools in Gemini format
tools = gateway.get_tools("gemini", server="default")

# 3. Create Gemini model with tools
model = genai.GenerativeModel('gemini-1.5-pro', tools=tools)

# 4. Generate content
response = model.generate_content("What tasks do I have?")

# 5. If model calls a function, execute via gateway
if response.candidates[0].content.parts[0].function_call:
    fc = response.candidates[0].content.parts[0].function_call
    result = gateway.execute("gemini", fc, server="default")

    # 6. Send result back to Gemini
    response = model.generate_content([
        response.candidates[0].content,
        {"role": "function", "parts": [{
            "function_response": {"name": fc.name, "response": result}
        }]}
    ])

print(response.text)
