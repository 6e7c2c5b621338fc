"""Definitions of the package simulation_interfaces (2.1) used by the nodes: fields and constants."""

from __future__ import annotations

#: Message type -> definition text, in order of dependency.
MESSAGES = {
    'simulation_interfaces/msg/Result': (
        'uint8 RESULT_FEATURE_UNSUPPORTED=0\nuint8 RESULT_OK=1\nuint8 RESULT_NOT_FOUND=2\n'
        'uint8 RESULT_INCORRECT_STATE=3\nuint8 RESULT_OPERATION_FAILED=4\nuint8 result\nstring error_message\n'
    ),
    'simulation_interfaces/msg/SimulatorFeatures': (
        'uint8 ENTITY_STATE_GETTING=10\nuint8 SIMULATION_RESET=20\nuint8 SIMULATION_STATE_GETTING=24\n'
        'uint8 SIMULATION_STATE_SETTING=25\nuint8 SIMULATION_STATE_PAUSE=26\nuint8 STEP_SIMULATION_SINGLE=31\n'
        'uint8 STEP_SIMULATION_MULTIPLE=32\nuint16[] features\nstring[] spawn_formats\nstring custom_info\n'
    ),
    'simulation_interfaces/msg/SimulationState': (
        'uint8 STATE_STOPPED=0\nuint8 STATE_PLAYING=1\nuint8 STATE_PAUSED=2\nuint8 STATE_QUITTING=3\n'
        'uint8 STATE_NO_WORLD=4\nuint8 STATE_LOADING_WORLD=5\nuint8 state\n'
    ),
    'simulation_interfaces/msg/EntityState': (
        'std_msgs/Header header\ngeometry_msgs/Pose pose\ngeometry_msgs/Twist twist\ngeometry_msgs/Accel acceleration\n'
    ),
    'simulation_interfaces/msg/EntityCategory': (
        'uint8 CATEGORY_OBJECT=0\nuint8 CATEGORY_ROBOT=1\nuint8 CATEGORY_HUMAN=2\nuint8 CATEGORY_DYNAMIC_OBJECT=4\n'
        'uint8 CATEGORY_STATIC_OBJECT=5\nuint8 category\n'
    ),
    'simulation_interfaces/msg/TagsFilter': (
        'string[] tags\nuint8 FILTER_MODE_ANY=0\nuint8 FILTER_MODE_ALL=1\nuint8 filter_mode\n'
    ),
    'simulation_interfaces/msg/Bounds': (
        'uint8 TYPE_EMPTY=0\nuint8 TYPE_BOX=1\nuint8 TYPE_CONVEX_HULL=2\nuint8 TYPE_SPHERE=3\nuint8 type\n'
        'geometry_msgs/Vector3[] points\n'
    ),
    'simulation_interfaces/msg/EntityFilters': (
        'string filter\nsimulation_interfaces/EntityCategory[] categories\nsimulation_interfaces/TagsFilter tags\n'
        'simulation_interfaces/Bounds bounds\n'
    ),
}

#: Service type -> definition text.
SERVICES = {
    'simulation_interfaces/srv/GetSimulatorFeatures': '---\nsimulation_interfaces/SimulatorFeatures features\n',
    'simulation_interfaces/srv/GetSimulationState': (
        '---\nsimulation_interfaces/SimulationState state\nsimulation_interfaces/Result result\n'
    ),
    'simulation_interfaces/srv/SetSimulationState': (
        'simulation_interfaces/SimulationState state\n---\nuint8 ALREADY_IN_TARGET_STATE=101\n'
        'uint8 STATE_TRANSITION_ERROR=102\nuint8 INCORRECT_TRANSITION=103\nsimulation_interfaces/Result result\n'
    ),
    'simulation_interfaces/srv/StepSimulation': 'uint64 steps 1\n---\nsimulation_interfaces/Result result\n',
    'simulation_interfaces/srv/ResetSimulation': (
        'uint8 SCOPE_DEFAULT=0\nuint8 SCOPE_TIME=1\nuint8 SCOPE_STATE=2\nuint8 SCOPE_SPAWNED=4\nuint8 SCOPE_ALL=255\n'
        'uint8 scope\n---\nsimulation_interfaces/Result result\n'
    ),
    'simulation_interfaces/srv/GetEntityState': (
        'string entity\n---\nsimulation_interfaces/Result result\nsimulation_interfaces/EntityState state\n'
    ),
    'simulation_interfaces/srv/GetEntities': (
        'simulation_interfaces/EntityFilters filters\n---\nsimulation_interfaces/Result result\nstring[] entities\n'
    ),
}
